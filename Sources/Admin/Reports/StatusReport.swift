public import DNSResolver
public import HTTPDNS

/// The status of a running server, as reported by `status`.
public struct StatusReport: JSONRecord {
    @Member("version") public var version = ""
    @Member("pid") public var pid = 0
    /// Seconds since the start.
    @Member("uptime_seconds") public var uptime = 0
    /// Path of the configuration file.
    @Member("config") public var configuration = ""
    /// Why the last reload was refused; empty when it was not.
    @Member("reload_errors") public var reloadErrors: [String] = []
    /// The number of successful reloads.
    @Member("reloads") public var reloads = 0
    /// The generation of the policy; raised whenever questions must be decided again.
    @Member("generation") public var generation = 0
    /// Whether HTTPDNS is used.
    @Member("switch", "on", "off") public var isOn = true
    @Member("mode") public var mode = ""
    /// The signed policy.
    @Member("policy") public var policy = Policy()
    @Member("listen") public var listen: [String] = []
    /// Those of `listen` that no interface of the machine has.
    @Member("listen_absent") public var absent: [String] = []
    /// Those of `listen` whose sockets another process passed to this one.
    @Member("listen_adopted") public var adopted: [String] = []
    /// In the order in which they are queried.
    @Member("providers") public var providers: [Provider] = []
    @Member("localdns") public var localDNS: [Server] = []
    @Member("forwards") public var forwards: [Forward] = []
    /// Why this machine's clock cannot be right; empty while there is no evidence of that.
    @Member("clock") public var clock = ""
    /// The address that LocalDNS gives for unrelated names while no provider can be reached; empty: none.
    @Member("portal") public var portal = ""
    /// SHA-256 of the certificate that addresses of unrelated names show while no provider can be reached; empty: none.
    @Member("interception") public var interception = ""
    /// How often the network has changed since the start, and how many seconds ago it last did.
    @Member("network_changes") public var networkChanges = 0
    @Member("network_change_seconds") public var networkChangeAge: Int?
    /// Whether `httpdnsd resolver on` is in force: on, off, or rewritten by another program.
    @Member("resolver") public var resolver = "off"
    /// The prefix by which IPv6 addresses are made of IPv4 addresses; empty: none are.
    @Member("nat64") public var nat64 = ""
    @Member("cache") public var cache = Cache()
    /// Nil when nothing is served encrypted.
    @Member("encrypted", ifAny: true) public var encrypted: Encrypted?
    /// Nil where no app is served HTTPDNS.
    @Member("apps", ifAny: true) public var apps: Apps?
    /// Nil when there is no collector of dnstap.
    @Member("dnstap", ifAny: true) public var dnstap: Dnstap?
    @Member("shared_cache") public var shared = SharedCache()
    /// Questions under way upstream, and clients that wait for them.
    @Member("flights") public var flights = 0
    @Member("waiters") public var waiters = 0
    /// The program of this machine of which more queries wait than of any other client, and how many; empty: none is known.
    @Member("busiest_program") public var busiestProgram = ""
    @Member("busiest_queries") public var busiestQueries = 0
    /// Queries that wait for an answer, and open TCP connections.
    @Member("queries") public var queries = 0
    @Member("connections") public var connections = 0
    /// Queries of clients that are not in `listen.allow`, since the start.
    @Member("refused_queries") public var refused = 0
    /// Misses beyond `limits.misses_per_second`, since the start.
    @Member("refused_misses") public var refusedMisses = 0
    /// Queries beyond what the server can take, since the start.
    @Member("overload_queries") public var overloads = 0
    /// The number of addresses reported as bad.
    @Member("bad_addresses") public var badAddresses = 0
    /// How many checks of LocalDNS's addresses detected a forged answer, and the last of them.
    @Member("forged_checks") public var forgedChecks = 0
    @Member("forged") public var forged: [HijackedAddress] = []
    /// Preset names: those answered without a query to any upstream, and those answered when no upstream can; a
    /// wildcard counts as one.
    @Member("presets") public var presets = 0
    @Member("last_resorts") public var lastResorts = 0
    /// The number of answers from the last resorts.
    @Member("last_resort_answers") public var lastResortAnswers = 0

    public init() {}

    /// Whether providers are configured and none of them has an address of which the last that is known is good.
    public var isCutOff: Bool {
        !providers.isEmpty
            && providers.allSatisfy { $0.state != .used || !$0.addresses.contains { $0.state == .used } }
    }

    /// Providers whose answers can be forged or replayed on the path.
    public var forgeable: [String] { providers.filter { !$0.isAuthenticated }.map(\.name) }

    public func writeMembers(to writer: inout JSONWriter) {
        writeOwnMembers(to: &writer)
        writer.member("forgeable", forgeable)
    }
}

extension StatusReport {
    /// The state of the memory cache and its file.
    public struct Cache: JSONRecord {
        /// Answers in memory, the bytes that they take, and the most bytes that they may take.
        @Member("entries") public var entries = 0
        @Member("bytes") public var bytes = 0
        @Member("limit") public var limit = 0
        /// Look-ups since the start: those answered from memory at once, and those that were not.
        @Member("hits") public var hits = 0
        @Member("misses") public var misses = 0
        /// Of the misses, those that were answered with a stale answer.
        @Member("stale") public var stale = 0
        /// Answers that were prefetched, that is refreshed before they expired.
        @Member("refreshes") public var refreshes = 0
        /// The path of the file in which answers are stored over a restart; empty: none.
        @Member("file") public var file = ""
        /// The state of the file, and why it is not used.
        @Member("file_state") public var fileState = ""
        @Member("file_error") public var fileError = ""
        /// Answers that were read from the file, and that were written to it.
        @Member("loaded") public var loaded = 0
        @Member("written") public var written = 0

        /// What is in memory, for a row of the text.
        var text: String {
            "\(counted(entries, "answer")), \(bytes.sizeText) of \(limit.sizeText); \(counted(hits, "hit")), \(counted(misses, "miss", "misses")), \(stale) served stale, \(refreshes) prefetched"
        }

        /// Its file, for a row of the text.
        var fileText: String {
            if file.isEmpty { return "answers are cached in memory alone" }
            let reason = fileError.isEmpty ? "" : " (\(fileError))"
            return "\(file), \(fileState)\(reason): \(counted(loaded, "answer")) loaded, \(written) written"
        }
    }

    /// The state of the cache that several servers share.
    public struct SharedCache: JSONRecord {
        /// Where it is; empty: nothing is shared.
        @Member("address") public var address = ""
        @Member("state") public var state = State.used
        /// Seconds until it is probed; nil while it is used.
        @Member("retry_seconds") public var retry: Int?
        /// Why it is in backoff.
        @Member("error") public var error = ""
        /// Look-ups that found what was asked for, that did not, that had no reply in time, and that were not made since it
        /// was in backoff.
        @Member("hits") public var hits = 0
        @Member("misses") public var misses = 0
        @Member("timeouts") public var timeouts = 0
        @Member("skipped") public var skipped = 0
        /// Look-ups that waited while another server asked, and those that then had its answer.
        @Member("waits") public var waits = 0
        @Member("served") public var served = 0
        /// Answers written, and refused.
        @Member("written") public var written = 0
        @Member("refused") public var refused = 0
        /// Values that are no answers.
        @Member("damaged") public var damaged = 0
        /// Seconds since the last write that was refused, and since the last such value; nil: none was.
        @Member("refused_age_seconds") public var refusedAge: Int?
        @Member("damaged_age_seconds") public var damagedAge: Int?

        /// One line.
        var text: String {
            var state = "\(address), \(state.rawValue)"
            if let retry { state += " for \(retry) s" }
            if !error.isEmpty { state += " (\(error))" }
            var text =
                "\(state): \(counted(hits, "hit")), \(counted(misses, "miss", "misses")), \(timeouts) without a reply"
            text += ", \(skipped) not looked up; \(waits) waited for another server, \(served) had its answer"
            text += "; \(written) written"
            if refused > 0 { text += ", \(refused) refused" }
            if damaged > 0 { text += ", \(counted(damaged, "DAMAGED value"))" }
            return text
        }
    }
}

extension StatusReport {
    /// The signed policy: which one is in force, and how its fetches go.
    public struct Policy: JSONRecord {
        /// Whether the document that was taken last is in force.
        public enum State: String, JSONValue {
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
        @Member("url") public var url = ""
        @Member("state") public var state = State.none
        /// Of the document that was taken last; 0: none.
        @Member("serial") public var serial = 0
        /// When it expires, such as `2030-01-31T00:00:00Z`; empty: none.
        @Member("expires") public var expires = ""
        /// What it changes, one line each.
        @Member("changes") public var changes: [String] = []
        @Member("switches_off", "yes", "no") public var switchesOff = false
        /// Seconds since it was last fetched, changed or not; nil: not since the start.
        @Member("fetch_age_seconds") public var fetchAge: Int?
        /// Why the last fetch failed, or its document was not taken; empty: it was, or is in force already.
        @Member("problem") public var problem = ""

        public init() {}

        /// 0: none.
        public var serialInForce: Int { isInForce ? serial : 0 }

        private var isInForce: Bool { state == .inForce || state == .overdue }

        /// For a table of two columns.
        var rows: [[String]] {
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
            let age = fetchAge.map { "fetched \($0.durationText) ago" } ?? "not fetched since the start"
            rows.append(["", "\(age) from \(url)"])
            if !problem.isEmpty { rows.append(["", "PROBLEM: \(problem)"]) }
            return rows
        }

        /// Several lines, in aligned columns.
        public var text: String {
            url.isEmpty ? "no policy is fetched: policy.url is empty" : rows.tableText
        }
    }
}
