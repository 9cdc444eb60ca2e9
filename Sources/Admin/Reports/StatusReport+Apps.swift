extension StatusReport {
    /// HTTPDNS that is served to apps.
    package struct Apps: JSONRecord {
        /// Where it is served in plain http; over https it is where `Encrypted.https` says.
        package var listen: [String] = []
        /// All results, also those that no request had.
        package var requests: [Requests] = []
        /// By ID.
        package var accounts: [Account] = []

        package init() {}

        package static let members: [JSONMember<Self>] = [
            .init("listen", strings: \.listen),
            .init("requests", records: \.requests),
            .init("accounts", records: \.accounts),
        ]

        /// For a table of two columns.
        ///
        /// - Parameter https: where it is served over https.
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
        package var result = ""
        /// Since the start.
        package var count = 0

        package init() {}

        package init(result: String, count: Int) { (self.result, self.count) = (result, count) }

        package static let members: [JSONMember<Self>] = [
            .init("result", \.result),
            .init("count", \.count),
        ]
    }

    /// An account and what it has used of its limit.
    package struct Account: JSONRecord {
        package var id = ""
        /// Names since 00:00 UTC.
        package var names = 0
        /// `daily_limit`; 0: none.
        package var limit = 0

        package init() {}

        package init(id: String, names: Int, limit: Int) { (self.id, self.names, self.limit) = (id, names, limit) }

        package static let members: [JSONMember<Self>] = [
            .init("id", \.id),
            .init("names_today", \.names),
            .init("daily_limit", \.limit),
        ]
    }
}
