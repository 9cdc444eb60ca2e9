public import DNSWire
public import Logging
public import Platform
import Upstreams

extension Configuration {
    /// `[control]`: how a running server is queried and controlled.
    public struct ControlSettings: SettingsTable {
        /// Absolute, at most 107 bytes; empty: none.
        @Setting("socket", .path(limit: 107)) public var socket = "/run/httpdnsd/control.sock"
        /// The group of the socket's file; empty: that of the user.
        @Setting("group", .identifier("group name", maximumLength: 32)) public var group = ""
        /// Nil: for the group too if one is named, else for the owner alone.
        @Setting("mode", .optional(.choice())) public var mode: Mode?
        /// Nil: none.
        @Setting("http", .optional(.listener)) public var http: AddressAndPort?
        /// Names by which people ask for the page, beside this machine's own.
        @Setting("http_names", .list(of: .name, "list of names")) public var httpNames: [Name] = []

        /// Users, besides root, that may use the socket: the mode of its file.
        public enum Mode: String, CaseIterable, Sendable {
            case owner = "0600"
            case group = "0660"
            case everyone = "0666"
        }

        /// The users that may use the socket, with the default for the group put in.
        public var openTo: Mode { mode ?? (group.isEmpty ? .owner : .group) }

        mutating func finish(_ keys: TableKeys) {
            switch mode {
            case .owner where !group.isEmpty:
                keys.fail("mode", "\"0600\" keeps the group out; write \"0660\", or leave the key out")
            case .group where group.isEmpty:
                keys.fail("mode", "\"0660\" lets a group in: name it in control.group")
            case .everyone:
                keys.warn("mode", "\"0666\" lets every user of this machine control the server")
            case .owner, .group, nil: break
            }
            guard let folder = SystemFolder(of: socket) else { return }
            keys.warn(
                "socket",
                "\(quoted(socket)) stays when the server ends: its folder \(folder.path) is the system's, and the server"
                    + " removes nothing there; write one of its own, such as \(ControlSettings().socket)")
        }
    }
}

extension Configuration {
    /// `[http]`: how HTTP requests leave.
    public struct HTTPSettings: SettingsTable {
        /// An HTTP proxy that tunnels (`CONNECT`). Nil: direct. The environment's proxy is never used.
        @Setting("proxy", .optional(.proxy)) public var proxy: AddressAndPort?
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

extension Configuration {
    /// `[log]`.
    public struct LogSettings: SettingsTable {
        /// The least severe messages that are logged.
        @Setting("level", .choice()) public var level = Logger.Level.info
        @Setting("format", .choice()) public var format = LogStyle.text
        /// Whether every query is logged.
        @Setting("queries", .boolean) public var queries = false
        /// Nil: none.
        @Setting("dnstap", .optional(.dnstap)) public var dnstap: StreamPlace?
    }
}

extension Kind where Value == StreamPlace {
    static var dnstap: Kind {
        .text(
            "unix:PATH or tcp:ADDRESS:PORT",
            expected: "a collector in quotes such as \"unix:/run/dnstap/collector.sock\"",
            problem:
                "is not a collector; write one such as \"unix:/run/dnstap/collector.sock\" (at most 107 bytes behind unix:) or \"tcp:127.0.0.1:6000\"",
            value: { StreamPlace($0) })
    }
}
