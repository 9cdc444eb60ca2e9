package import HTTPDNS

/// The status of a running server, as reported by `status`.
package struct StatusReport: JSONRecord {
    package var version = ""
    package var pid = 0
    /// Seconds since the start.
    package var uptime = 0
    /// Path of the configuration file.
    package var configuration = ""
    /// Why the last reload was refused; empty when it was not.
    package var reloadErrors: [String] = []
    /// The number of successful reloads.
    package var reloads = 0
    /// The generation of the policy; raised whenever questions must be decided again.
    package var generation = 0
    /// Whether HTTPDNS is used.
    package var isOn = true
    package var mode = ""
    /// The signed policy.
    package var policy = Policy()
    package var listen: [String] = []
    /// Those of `listen` that no interface of the machine has.
    package var absent: [String] = []
    /// Those of `listen` whose sockets another process passed to this one.
    package var adopted: [String] = []
    /// In the order in which they are queried.
    package var providers: [Provider] = []
    package var localDNS: [Server] = []
    package var forwards: [Forward] = []
    /// Why this machine's clock cannot be right; empty while there is no evidence of that.
    package var clock = ""
    /// The address that LocalDNS gives for unrelated names while no provider can be reached; empty: none.
    package var portal = ""
    /// SHA-256 of the certificate that addresses of unrelated names show while no provider can be reached; empty: none.
    package var interception = ""
    /// How often the network has changed since the start, and how many seconds ago it last did.
    package var networkChanges = 0
    package var networkChangeAge: Int?
    /// Whether `httpdnsd resolver on` is in force: on, off, or rewritten by another program.
    package var resolver = "off"
    /// The prefix by which IPv6 addresses are made of IPv4 addresses; empty: none are.
    package var nat64 = ""
    package var cache = Cache()
    /// Nil when nothing is served encrypted.
    package var encrypted: Encrypted?
    /// Nil where no app is served HTTPDNS.
    package var apps: Apps?
    /// Nil when there is no collector of dnstap.
    package var dnstap: Dnstap?
    package var shared = SharedCache()
    /// Questions under way upstream, and clients that wait for them.
    package var flights = 0
    package var waiters = 0
    /// The program of this machine of which more queries wait than of any other client, and how many; empty: none is known.
    package var busiestProgram = ""
    package var busiestQueries = 0
    /// Queries that wait for an answer, and open TCP connections.
    package var queries = 0
    package var connections = 0
    /// Queries of clients that are not in `listen.allow`, since the start.
    package var refused = 0
    /// Misses beyond `limits.misses_per_second`, since the start.
    package var refusedMisses = 0
    /// Queries beyond what the server can take, since the start.
    package var overloads = 0
    /// The number of addresses reported as bad.
    package var badAddresses = 0
    /// How many checks of LocalDNS's addresses detected a forged answer, and the last of them.
    package var forgedChecks = 0
    package var forged: [ForgedAddress] = []
    /// Preset names: those answered without a query to any upstream, and those answered when no upstream can; a
    /// wildcard counts as one.
    package var presets = 0
    package var lastResorts = 0
    /// The number of answers from the last resorts.
    package var lastResortAnswers = 0

    package init() {}

    /// Whether providers are configured and none of them has an address that is asked now.
    package var isCutOff: Bool {
        !providers.isEmpty
            && providers.allSatisfy { $0.state != .used || !$0.addresses.contains { $0.state == .used } }
    }

    /// Providers whose answers can be forged or replayed on the path.
    package var forgeable: [String] { providers.filter { !$0.isAuthenticated }.map(\.name) }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "version": version = try reader.string()
        case "pid": pid = try reader.int()
        case "uptime_seconds": uptime = try reader.int()
        case "config": configuration = try reader.string()
        case "reloads": reloads = try reader.int()
        case "reload_errors": reloadErrors = try reader.strings()
        case "generation": generation = try reader.int()
        case "switch": isOn = try reader.string() == "on"
        case "mode": mode = try reader.string()
        case "policy": policy = try Policy(from: &reader)
        case "listen": listen = try reader.strings()
        case "listen_absent": absent = try reader.strings()
        case "listen_adopted": adopted = try reader.strings()
        case "providers": providers = try reader.records()
        case "localdns": localDNS = try reader.records()
        case "forwards": forwards = try reader.records()
        case "clock": clock = try reader.string()
        case "portal": portal = try reader.string()
        case "interception": interception = try reader.string()
        case "network_changes": networkChanges = try reader.int()
        case "network_change_seconds": networkChangeAge = try reader.optionalInt()
        case "resolver": resolver = try reader.string()
        case "nat64": nat64 = try reader.string()
        case "cache": cache = try Cache(from: &reader)
        case "encrypted": encrypted = try Encrypted(from: &reader)
        case "apps": apps = try Apps(from: &reader)
        case "dnstap": dnstap = try Dnstap(from: &reader)
        case "shared_cache": shared = try SharedCache(from: &reader)
        case "flights": flights = try reader.int()
        case "busiest_program": busiestProgram = try reader.string()
        case "busiest_queries": busiestQueries = try reader.int()
        case "waiters": waiters = try reader.int()
        case "queries": queries = try reader.int()
        case "connections": connections = try reader.int()
        case "refused_queries": refused = try reader.int()
        case "refused_misses": refusedMisses = try reader.int()
        case "overload_queries": overloads = try reader.int()
        case "bad_addresses": badAddresses = try reader.int()
        case "forged_checks": forgedChecks = try reader.int()
        case "forged": forged = try reader.records()
        case "presets": presets = try reader.int()
        case "last_resorts": lastResorts = try reader.int()
        case "last_resort_answers": lastResortAnswers = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("version", version)
        writer.member("pid", pid)
        writer.member("uptime_seconds", uptime)
        writer.member("config", configuration)
        writer.member("reloads", reloads)
        writer.member("reload_errors", strings: reloadErrors)
        writer.member("generation", generation)
        writer.member("switch", isOn ? "on" : "off")
        writer.member("mode", mode)
        writer.member("policy", object: { policy.write(to: &$0) })
        writer.member("listen", strings: listen)
        writer.member("listen_absent", strings: absent)
        writer.member("listen_adopted", strings: adopted)
        writer.member("providers", records: providers)
        writer.member("localdns", records: localDNS)
        writer.member("forwards", records: forwards)
        writer.member("clock", clock)
        writer.member("portal", portal)
        writer.member("interception", interception)
        writer.member("network_changes", networkChanges)
        writer.member("network_change_seconds", networkChangeAge)
        writer.member("resolver", resolver)
        writer.member("nat64", nat64)
        writer.member("cache", object: { cache.write(to: &$0) })
        if let encrypted { writer.member("encrypted", object: { encrypted.write(to: &$0) }) }
        if let apps { writer.member("apps", object: { apps.write(to: &$0) }) }
        if let dnstap { writer.member("dnstap", object: { dnstap.write(to: &$0) }) }
        writer.member("shared_cache", object: { shared.write(to: &$0) })
        writer.member("flights", flights)
        writer.member("busiest_program", busiestProgram)
        writer.member("busiest_queries", busiestQueries)
        writer.member("waiters", waiters)
        writer.member("queries", queries)
        writer.member("connections", connections)
        writer.member("refused_queries", refused)
        writer.member("refused_misses", refusedMisses)
        writer.member("overload_queries", overloads)
        writer.member("bad_addresses", badAddresses)
        writer.member("forged_checks", forgedChecks)
        writer.member("forged", records: forged)
        writer.member("presets", presets)
        writer.member("last_resorts", lastResorts)
        writer.member("last_resort_answers", lastResortAnswers)
        writer.member("forgeable", strings: forgeable)
    }
}

extension StatusReport {
    /// The state of the memory cache and its file.
    package struct Cache: JSONRecord {
        package var entries = 0
        /// Bytes in use, and the limit.
        package var bytes = 0
        package var limit = 0
        /// Queries answered from it at once, and those that were not.
        package var hits = 0
        package var misses = 0
        /// Of the misses, those that were answered with a stale answer.
        package var stale = 0
        /// Answers that were prefetched, that is refreshed before they expired.
        package var refreshes = 0
        /// The path of the file in which answers are stored over a restart; empty: none.
        package var file = ""
        /// The state of the file, and why it is not used.
        package var fileState = ""
        package var fileError = ""
        /// Answers that were read from the file, and that were written to it.
        package var loaded = 0
        package var written = 0

        package init() {}

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "file": file = try reader.string()
            case "file_state": fileState = try reader.string()
            case "file_error": fileError = try reader.string()
            case "loaded": loaded = try reader.int()
            case "written": written = try reader.int()
            case "entries": entries = try reader.int()
            case "bytes": bytes = try reader.int()
            case "limit": limit = try reader.int()
            case "hits": hits = try reader.int()
            case "misses": misses = try reader.int()
            case "stale": stale = try reader.int()
            case "refreshes": refreshes = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("entries", entries)
            writer.member("bytes", bytes)
            writer.member("limit", limit)
            writer.member("hits", hits)
            writer.member("misses", misses)
            writer.member("stale", stale)
            writer.member("refreshes", refreshes)
            writer.member("file", file)
            writer.member("file_state", fileState)
            writer.member("file_error", fileError)
            writer.member("loaded", loaded)
            writer.member("written", written)
        }
    }
}

extension StatusReport {
    /// The collector of dnstap.
    package struct Dnstap: JSONRecord {
        /// As in `log.dnstap`.
        package var collector = ""
        /// `connecting`, `connected` or `unavailable`.
        package var state = ""
        /// Why it cannot be reached; empty while there is no reason.
        package var error = ""
        /// Messages since the start: those sent, and those dropped.
        package var sent = 0
        package var dropped = 0

        package init() {}

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "collector": collector = try reader.string()
            case "state": state = try reader.string()
            case "error": error = try reader.string()
            case "sent": sent = try reader.int()
            case "dropped": dropped = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("collector", collector)
            writer.member("state", state)
            writer.member("error", error)
            writer.member("sent", sent)
            writer.member("dropped", dropped)
        }

        /// Its row of the text.
        var text: String {
            "\(collector) \(state)\(error.isEmpty ? "" : ": \(error)"); \(counted(sent, "message")) sent, \(dropped) dropped"
        }
    }
}
