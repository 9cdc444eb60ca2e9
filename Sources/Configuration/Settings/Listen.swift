public import DNSWire
public import HTTPDNS

extension Configuration {
    /// `[listen]`.
    public struct Listen: SettingsTable {
        /// UDP and TCP on each; at least one, no two equal unless their port is 0.
        @Setting("addresses", .list(of: .listener, "list of addresses with port"))
        public var addresses = [AddressAndPort(.v4(0x7f00_0001), port: 53), AddressAndPort(.v6(1), port: 53)]
        /// DNS over TLS on each; empty: none.
        @Setting("tls", .list(of: .listener, "list of addresses with port")) public var tls: [AddressAndPort] = []
        /// DNS over HTTPS on each; empty: none.
        @Setting("https", .list(of: .listener, "list of addresses with port")) public var https: [AddressAndPort] = []
        /// PEM, the server's own certificate first; absolute.
        @Setting("certificate", .path()) public var certificate = ""
        /// PEM, without a password; absolute.
        @Setting("key", .path()) public var key = ""
        /// PEM; clients with a certificate of these authorities are answered whatever `allow` says; empty: none is asked for.
        @Setting("client_ca", .path()) public var clientCA = ""
        /// The path of requests over HTTPS.
        @Setting("https_path", .requestPath) public var httpsPath = "/dns-query"
        /// The only networks from which encrypted connections come, each with a header of the PROXY protocol; empty: none has one.
        @Setting("proxies", .list(of: .clients, "list of networks")) public var proxies: [AddressPrefix] = []
        /// For each listen address. 0 to 256; 0 means min(4, CPU affinity, ceiling of the cgroup's `cpu.max`).
        @Setting("udp_threads", .integer(in: 0...256)) public var udpThreads = 0
        /// Clients from elsewhere get REFUSED.
        @Setting("allow", .list(of: .clients, "list of networks"))
        public var allow = [AddressPrefix(.v4(0x7f00_0000), length: 8), AddressPrefix(.v6(1), length: 128)]
            .compactMap { $0 }
        /// A client over HTTPS that has one in its path is answered whatever `allow` says.
        @Setting("tokens", .list(of: .accessToken, "list of secrets")) public var tokens: [Secret] = []
        /// Of 32 hexadecimal digits each; the first makes cookies; empty: each process has its own.
        @Setting("cookie_secrets", .list(of: .cookieSecret, "list of secrets")) public var cookieSecrets: [Secret] = []
        /// Responses a second over UDP to a public client network without a cookie; 0: any number.
        @Setting("udp_rate", .integer(in: 0...1_000_000)) public var udpRate = 500
        /// Empty: the user stays what it is.
        @Setting("user", .identifier("user name", maximumLength: 32)) public var user = ""
        /// HTTPDNS in plain http on each; empty: none.
        @Setting("httpdns", .list(of: .listener, "list of addresses with port"))
        public var httpdns: [AddressAndPort] = []
        /// Names by which clients ask for HTTPDNS in plain http, beside `name` and this machine's own.
        @Setting("http_names", .list(of: .name, "list of names")) public var httpNames: [Name] = []
        /// The name by which clients know this server encrypted; nil: none is announced.
        @Setting("name", .optional(.name), default: "none") public var name: Name?
        /// The addresses by which clients reach this server; empty: those of the listeners that are no wildcards.
        @Setting("advertise", .list(of: .address, "list of IP addresses"), default: "those of the listeners")
        public var advertise: [IPAddress] = []

        /// All that is listened on, by key.
        public var lists: [(key: String, addresses: [AddressAndPort])] {
            [("addresses", addresses), ("tls", tls), ("https", https), ("httpdns", httpdns)]
        }

        /// Whether anything is served encrypted.
        public var isEncrypted: Bool { !tls.isEmpty || !https.isEmpty }

        mutating func finish(_ keys: TableKeys) {
            if addresses.isEmpty { keys.fail("addresses", "must hold at least one address") }
            checkOverlaps(keys)
            checkCertificate(keys)
            if allow.isEmpty { keys.warn("allow", "is empty: every client will be refused") }
            if let all = allow.first(where: { $0.length == 0 }),
                let open = addresses.first(where: { !$0.address.isLoopback })
            {
                keys.warn(
                    "allow",
                    "\(quoted(all.description)) answers everyone that reaches \(quoted(open.description)): strangers can have"
                        + " others flooded with replies; list the networks of your clients")
            }
        }

        /// The addresses by which clients reach this server, as far as they are known.
        public var advertisedAddresses: [IPAddress] {
            guard advertise.isEmpty else { return advertise }
            return (tls + https + httpdns).map(\.address).reduce(into: []) { found, address in
                if !address.isWildcard, !found.contains(address) { found.append(address) }
            }
        }

        /// The names by which HTTPDNS in plain http may be asked, beside this machine's own.
        public var plainNames: [Name] { httpNames + (name.map { [$0] } ?? []) }

        /// No address is listened on twice, whatever is spoken there.
        private func checkOverlaps(_ keys: TableKeys) {
            var earlier: [AddressAndPort] = []
            for (key, list) in lists {
                for (index, address) in list.enumerated() {
                    if let other = earlier.first(where: { $0.overlaps(address) }) {
                        let problem =
                            other == address ? "is listed twice" : "and \"\(other)\" overlap: leave out one of them"
                        keys.reading.fail(keys[key].appending(entry: index + 1), "\"\(address)\" \(problem)")
                    }
                    earlier.append(address)
                }
            }
        }

        /// Encrypted listeners need a certificate.
        private func checkCertificate(_ keys: TableKeys) {
            guard let listener = tls.first ?? https.first else { return }
            let list = tls.isEmpty ? "https" : "tls"
            for (key, file) in [("certificate", certificate), ("key", key)] where file.isEmpty && keys.isSound(key) {
                keys.fail(key, "is missing: \(list) listens on \"\(listener)\", which needs one")
            }
        }
    }
}

extension Kind where Value == Secret {
    /// Part of a URL, and too long to be guessed.
    fileprivate static var accessToken: Kind {
        let range = "16 to 128 letters, digits, dots, -, _ and ~"
        return .secret(range, problem: "must be \(range)") { text in
            (16...128).contains(text.count) && text.allSatisfy { $0.isWordByte || ".~".utf8.contains($0) }
        }
    }

    fileprivate static var cookieSecret: Kind {
        let problem = "must be 32 hexadecimal digits, such as openssl rand -hex 16 prints"
        return .secret("32 hexadecimal digits", problem: problem) { text in
            text.count == 32 && TextDecoding.hexadecimal(String(text)) != nil
        }
    }

    /// Never repeated in an error.
    private static func secret(
        _ range: String, problem: String, _ isSound: @escaping @Sendable (String.UTF8View) -> Bool
    ) -> Kind {
        .text(
            "secret", range: range, expected: "a string in quotes", isShown: false, isSecret: true,
            parse: { text throws(ValueProblem) in
                guard isSound(text.utf8) else { throw ValueProblem(problem) }
                return Secret(text)
            }, write: { _ in "\"\"" })
    }
}

extension Kind where Value == String {
    /// The path of a URL, without a query.
    fileprivate static var requestPath: Kind {
        .text(
            "path", range: "begins with /", expected: "a path in quotes such as \"/dns-query\"",
            problem: "must begin with / and be a plain path, such as \"/dns-query\"",
            value: { text in
                let isPlain = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"?#%".utf8.contains($0) }
                return isPlain && text.hasPrefix("/") && text.utf8.count <= 255 ? text : nil
            })
    }
}

extension Configuration {
    /// `[limits]`: what the server may use.
    public struct LimitSettings: SettingsTable {
        /// Bytes, 32 MiB to 1 TiB. Nil: what the control group allows, if it limits memory.
        @Setting("memory", .optional(.size(in: 32 << 20...1 << 40))) public var memory: Int?
        /// Misses a second of one client network at the providers; 0: any number; nil: any number too, but for names that do
        /// not exist where a provider bills or has a limit of calls.
        @Setting("misses_per_second", .optional(.integer(in: 0...100_000))) public var missesPerSecond: Int?
        /// How many of them may come at once.
        @Setting("misses_burst", .integer(in: 2...1_000_000)) public var missesBurst = 400
    }
}
