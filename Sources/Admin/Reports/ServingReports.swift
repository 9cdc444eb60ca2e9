import HTTPDNS

extension StatusReport {
    /// The encrypted listeners and their certificate.
    public struct Encrypted: JSONRecord {
        /// Where DNS over TLS and over HTTPS are served.
        @Member("tls") public var tls: [String] = []
        @Member("https") public var https: [String] = []
        /// What clients enter: the name of the server (`listen.name`), the port of DNS over TLS, the URL of DNS over HTTPS
        /// plain and as a template, the addresses. Empty and 0: not known, or not served.
        @Member("name") public var name = ""
        @Member("tls_port") public var tlsPort = 0
        @Member("url") public var url = ""
        @Member("template") public var template = ""
        @Member("addresses") public var addresses: [String] = []
        /// The file of the certificate.
        @Member("certificate") public var certificate = ""
        /// When the certificate in use expires, such as `2030-01-31T00:00:00Z`, and in seconds since 1970; empty and 0: none
        /// is in use.
        @Member("expires") public var expires = ""
        @Member("expires_seconds") public var expiresAt = 0
        /// Why the files as they are now are not in use; empty: they are.
        @Member("problem") public var problem = ""
        /// Open connections, those in their handshake included.
        @Member("connections") public var connections = 0
        /// Handshakes since the start: with the certificate, resumed, and failed.
        @Member("handshakes") public var full = 0
        @Member("handshakes_resumed") public var resumed = 0
        @Member("handshakes_failed") public var failed = 0

        public init() {}

        /// For a table of two columns.
        var rows: [[String]] {
            let places = [("DoT", tls), ("DoH", https)].filter { !$0.1.isEmpty }
                .map { "\($0.0) on \($0.1.joined(separator: ", "))" }
            var rows = [["encrypted", "\(places.joined(separator: "; ")): \(counted(connections, "connection"))"]]
            rows.append(["", expires.isEmpty ? "NO CERTIFICATE is in use" : "\(certificate), expires \(expires)"])
            if !problem.isEmpty { rows.append(["", "PROBLEM: \(problem)"]) }
            return rows
        }
    }

    /// HTTPDNS that is served to apps.
    public struct Apps: JSONRecord {
        /// Where it is served in plain http; over https it is where `Encrypted.https` says.
        @Member("listen") public var listen: [String] = []
        /// All results, also those that no request had.
        @Member("requests") public var requests: [Requests] = []
        /// By ID.
        @Member("accounts") public var accounts: [Account] = []

        public init() {}

        /// For a table of two columns.
        func rows(https: [String]) -> [[String]] {
            let places = listen.map { "http://\($0)" } + https.map { "https://\($0)" }
            let results = requests.filter { $0.count > 0 }.map { "\($0.count) \($0.result)" }
            let first = results.isEmpty ? "no request yet" : "requests: \(results.joined(separator: ", "))"
            var rows = [["apps", "HTTPDNS on \(places.joined(separator: ", ")); \(first)"]]
            for account in accounts {
                let limit = account.limit > 0 ? " of \(account.limit)" : ""
                rows.append(["", "account \(account.id): \(account.names)\(limit) names today"])
            }
            return rows
        }
    }
}

extension StatusReport.Apps {
    /// Requests with one result.
    public struct Requests: JSONRecord {
        /// `answered`, or why they were refused.
        @Member("result") public var result = ""
        /// Since the start.
        @Member("count") public var count = 0

        public init(result: String, count: Int) { (self.result, self.count) = (result, count) }
    }

    /// An account and what it has used of its limit.
    public struct Account: JSONRecord {
        @Member("id") public var id = ""
        /// Names since 00:00 UTC.
        @Member("names_today") public var names = 0
        /// `daily_limit`; 0: none.
        @Member("daily_limit") public var limit = 0

        public init(id: String, names: Int, limit: Int) { (self.id, self.names, self.limit) = (id, names, limit) }
    }
}

extension StatusReport {
    /// The collector of dnstap.
    public struct Dnstap: JSONRecord {
        /// As in `log.dnstap`.
        @Member("collector") public var collector = ""
        /// `connecting`, `connected` or `unavailable`.
        @Member("state") public var state = ""
        /// Why it cannot be reached; empty while there is no reason.
        @Member("error") public var error = ""
        /// Messages since the start: those sent, and those dropped.
        @Member("sent") public var sent = 0
        @Member("dropped") public var dropped = 0

        public init() {}

        /// Its row of the text.
        var text: String {
            "\(collector) \(state)\(error.isEmpty ? "" : ": \(error)"); \(counted(sent, "message")) sent, \(dropped) dropped"
        }
    }
}
