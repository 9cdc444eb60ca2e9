import HTTPDNS

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

    package static let members: [JSONMember<Self>] = [
        .init("version", \.version),
        .init("pid", \.pid),
        .init("uptime_seconds", \.uptime),
        .init("config", \.configuration),
        .init("reloads", \.reloads),
        .init("reload_errors", strings: \.reloadErrors),
        .init("generation", \.generation),
        .init("switch", \.isOn, "on", "off"),
        .init("mode", \.mode),
        .init("policy", \.policy),
        .init("listen", strings: \.listen),
        .init("listen_absent", strings: \.absent),
        .init("listen_adopted", strings: \.adopted),
        .init("providers", records: \.providers),
        .init("localdns", records: \.localDNS),
        .init("forwards", records: \.forwards),
        .init("clock", \.clock),
        .init("portal", \.portal),
        .init("interception", \.interception),
        .init("network_changes", \.networkChanges),
        .init("network_change_seconds", \.networkChangeAge),
        .init("resolver", \.resolver),
        .init("nat64", \.nat64),
        .init("cache", \.cache),
        .init("encrypted", ifAny: \.encrypted),
        .init("apps", ifAny: \.apps),
        .init("dnstap", ifAny: \.dnstap),
        .init("shared_cache", \.shared),
        .init("flights", \.flights),
        .init("busiest_program", \.busiestProgram),
        .init("busiest_queries", \.busiestQueries),
        .init("waiters", \.waiters),
        .init("queries", \.queries),
        .init("connections", \.connections),
        .init("refused_queries", \.refused),
        .init("refused_misses", \.refusedMisses),
        .init("overload_queries", \.overloads),
        .init("bad_addresses", \.badAddresses),
        .init("forged_checks", \.forgedChecks),
        .init("forged", records: \.forged),
        .init("presets", \.presets),
        .init("last_resorts", \.lastResorts),
        .init("last_resort_answers", \.lastResortAnswers),
        .init { $1.member("forgeable", strings: $0.forgeable) },
    ]
}
