extension StatusReport {
    /// The signed policy: which one is in force, and how its fetches go.
    package struct Policy: JSONRecord {
        /// Whether the document that was taken last is in force.
        package enum State: String, Sendable {
            /// There is none.
            case none
            case inForce = "in-force"
            /// Dropped at its expiry.
            case expired
            /// Expired, and in force all the same.
            case overdue
            /// Not for this machine, by its share or labels.
            case elsewhere
        }

        /// Where it is fetched; empty: nowhere.
        package var url = ""
        package var state = State.none
        /// Of the document that was taken last; 0: none.
        package var serial = 0
        /// When it expires, such as `2030-01-31T00:00:00Z`; empty: none.
        package var expires = ""
        /// What it changes, one line each.
        package var changes: [String] = []
        package var switchesOff = false
        /// Seconds since it was last fetched, changed or not; nil: not since the start.
        package var fetchAge: Int?
        /// Why the last fetch failed, or its document was not taken; empty: it was, or is in force already.
        package var problem = ""

        package init() {}

        /// 0: none.
        package var serialInForce: Int { isInForce ? serial : 0 }

        private var isInForce: Bool { state == .inForce || state == .overdue }

        package static let members: [JSONMember<Self>] = [
            .init("url", \.url),
            .init("state", word: \.state),
            .init("serial", \.serial),
            .init("expires", \.expires),
            .init("changes", strings: \.changes),
            .init("switches_off", \.switchesOff, "yes", "no"),
            .init("fetch_age_seconds", \.fetchAge),
            .init("problem", \.problem),
        ]

        /// For a table of two columns.
        package var rows: [[String]] {
            let document = "serial \(serial), expires \(expires)"
            let text =
                switch state {
                case .none: "none yet"
                case .inForce: "\(document): in force"
                case .expired: "\(document): EXPIRED, the configuration file alone is in force"
                case .overdue: "\(document): EXPIRED, and in force until there is another"
                case .elsewhere: "\(document): not for this machine"
                }
            var rows = [["policy", text]]
            if isInForce { rows += changes.map { ["", $0] } }
            let age = fetchAge.map { "fetched \(PlainText.duration($0)) ago" } ?? "not fetched since the start"
            rows.append(["", "\(age) from \(url)"])
            if !problem.isEmpty { rows.append(["", "PROBLEM: \(problem)"]) }
            return rows
        }

        /// Several lines, in aligned columns.
        package var text: String {
            url.isEmpty ? "no policy is fetched: policy.url is empty" : PlainText.lines(rows)
        }
    }
}
