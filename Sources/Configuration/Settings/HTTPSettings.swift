extension Configuration {
    /// `[http]`: how HTTP requests leave.
    package struct HTTPSettings: SettingsTable {
        /// An HTTP proxy that tunnels (`CONNECT`). Nil: direct. The environment's proxy is never used.
        package var proxy: AddressAndPort?

        package init() {}

        static let settings: [Setting<HTTPSettings>] = [
            Setting(
                "proxy", \.proxy, .optional(.proxy), shapesAnswers: false,
                "The proxy that requests to providers go through; empty for none.")
        ]
    }
}

extension Kind where Value == AddressAndPort {
    /// Never repeated in an error, because it might have been meant to hold a password.
    fileprivate static var proxy: Kind {
        .text(
            "URL", range: "http, an IP address and a port",
            expected: "a URL in quotes such as \"http://192.0.2.8:3128\"", isShown: false,
            parse: { text throws(ValueProblem) in
                let url = try ProviderURL(text)
                guard url.scheme == .http else {
                    throw ValueProblem("must begin with http://: to the proxy itself TLS is not spoken")
                }
                guard case .address(let address) = url.host else {
                    throw ValueProblem("must have an IP address: a name would have to be looked up first")
                }
                guard url.path.isEmpty || url.path == "/" else { throw ValueProblem("must end after the port") }
                return AddressAndPort(address, port: url.port)
            },
            write: { written("http://\($0)") })
    }
}
