import HTTPDNS

extension StatusReport {
    /// The encrypted listeners and their certificate.
    package struct Encrypted: JSONRecord {
        /// Where DNS over TLS and over HTTPS are served.
        @Member("tls") package var tls: [String] = []
        @Member("https") package var https: [String] = []
        /// What clients enter: the name of the server (`listen.name`), the port of DNS over TLS, the URL of DNS over HTTPS
        /// plain and as a template, the addresses. Empty and 0: not known, or not served.
        @Member("name") package var name = ""
        @Member("tls_port") package var tlsPort = 0
        @Member("url") package var url = ""
        @Member("template") package var template = ""
        @Member("addresses") package var addresses: [String] = []
        /// The file of the certificate.
        @Member("certificate") package var certificate = ""
        /// When the certificate in use expires, such as `2030-01-31T00:00:00Z`, and in seconds since 1970; empty and 0: none
        /// is in use.
        @Member("expires") package var expires = ""
        @Member("expires_seconds") package var expiresAt = 0
        /// Why the files as they are now are not in use; empty: they are.
        @Member("problem") package var problem = ""
        /// Open connections, those in their handshake included.
        @Member("connections") package var connections = 0
        /// Handshakes since the start: with the certificate, resumed, and failed.
        @Member("handshakes") package var full = 0
        @Member("handshakes_resumed") package var resumed = 0
        @Member("handshakes_failed") package var failed = 0

        package init() {}

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
    package struct Apps: JSONRecord {
        /// Where it is served in plain http; over https it is where `Encrypted.https` says.
        @Member("listen") package var listen: [String] = []
        /// All results, also those that no request had.
        @Member("requests") package var requests: [Requests] = []
        /// By ID.
        @Member("accounts") package var accounts: [Account] = []

        package init() {}

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
    package struct Requests: JSONRecord {
        /// `answered`, or why they were refused.
        @Member("result") package var result = ""
        /// Since the start.
        @Member("count") package var count = 0

        package init(result: String, count: Int) { (self.result, self.count) = (result, count) }
    }

    /// An account and what it has used of its limit.
    package struct Account: JSONRecord {
        @Member("id") package var id = ""
        /// Names since 00:00 UTC.
        @Member("names_today") package var names = 0
        /// `daily_limit`; 0: none.
        @Member("daily_limit") package var limit = 0

        package init(id: String, names: Int, limit: Int) { (self.id, self.names, self.limit) = (id, names, limit) }
    }
}

extension StatusReport {
    /// The collector of dnstap.
    package struct Dnstap: JSONRecord {
        /// As in `log.dnstap`.
        @Member("collector") package var collector = ""
        /// `connecting`, `connected` or `unavailable`.
        @Member("state") package var state = ""
        /// Why it cannot be reached; empty while there is no reason.
        @Member("error") package var error = ""
        /// Messages since the start: those sent, and those dropped.
        @Member("sent") package var sent = 0
        @Member("dropped") package var dropped = 0

        package init() {}

        /// Its row of the text.
        var text: String {
            "\(collector) \(state)\(error.isEmpty ? "" : ": \(error)"); \(counted(sent, "message")) sent, \(dropped) dropped"
        }
    }
}
