import Admin
import Configuration
import DNSResolver
import DNSWire
import Platform
import Synchronization
import Upstreams

/// What the checks look at, gathered once.
struct Examination: Sendable {
    /// How long the server is waited for: longer than a probe of it takes.
    private static let patience = Duration.seconds(2)
    /// The most listen addresses that are asked; the others count as answering.
    private static let mostProbes = 16

    /// The path of the configuration.
    let file: String
    let loaded: LoadedConfiguration
    var files = MachineFiles(root: "")
    /// What answers on the listen addresses that were asked.
    var answers: [AddressAndPort: LivenessProbe] = [:]
    /// What the running server says; nil when it is configured to have no control socket.
    var status: Result<Testimony, ControlError>?

    /// What the running server says of the file as it can read it; nil where none runs with that.
    var reload: Testimony?
    /// Why a provider has not answered a question of ours, by the provider's name; nil where it has. Empty: none was asked.
    var questions: [String: String?] = [:]
    /// Whether this machine has a route to an address.
    var hasRoute: @Sendable (SocketAddress) -> Bool = { $0.isRouted }

    /// Where the shared cache is, and what it did when it was asked from here; nil: it was not, or none is configured.
    var shared: (place: String, outcome: SharedExamination)?

    var settings: Configuration { loaded.configuration }
    /// Those of reading the file.
    var warnings: [String] {
        // Of a provider's `ca_file` that is of no use `Check.authorities` says more.
        let useless = settings.uselessAuthorities.map(\.file)
        return loaded.warnings.filter { warning in
            warning.key?.hasSuffix("].ca_file") != true || !useless.contains { warning.message.contains($0) }
        }.map(\.description)
    }

    var report: Testimony? { try? status?.get() }

    /// The folder of the running server in `/proc`; nil where it cannot be seen, as from outside of its container.
    var process: String? {
        guard let pid = report?.pid, PortHolders(files).isServer(pid) else { return nil }
        return "/proc/\(pid)"
    }

    /// Where the server listens: where it says so itself, and as the file has it.
    var listenAddresses: [AddressAndPort] {
        let said = report?.listen ?? []
        return said + settings.listen.addresses.filter { !said.contains($0) }
    }

    /// Whether the server that runs says that it listens elsewhere alone.
    func isElsewhere(than address: AddressAndPort) -> Bool {
        guard let said = report?.listen, !said.isEmpty else { return false }
        return !said.contains(address)
    }

    /// The listen addresses that this machine has, where a server can be asked.
    var served: [AddressAndPort] {
        listenAddresses.filter { $0.port != 0 && SocketAddress($0)?.isOnThisMachine == true }
    }

    /// Those of them on which no server of ours answers.
    var unanswered: [AddressAndPort] { served.filter { [.silent, .foreign].contains(answers[$0]) } }

    /// A command with the option that names this configuration, for a remedy.
    func command(_ words: String) -> String { Self.command(words, of: file) }

    static func command(_ words: String, of file: String) -> String {
        "`httpdnsd \(words)\(file == ConfigurationFile.defaultPath ? "" : " --config \(file)")`"
    }

    /// Asks the server over its control socket; then at the same time its listen addresses, the shared cache and, unless this
    /// is `offline`, each provider.
    mutating func ask(offline: Bool) throws(SystemError) {
        status = askStatus()
        let deadline = ContinuousClock.now + Self.patience
        var probes: [(address: AddressAndPort, work: BoundedWork<LivenessProbe>)] = []
        for address in served.prefix(Self.mostProbes) {
            guard let target = SocketAddress(address.reachable) else { continue }
            probes.append((address, try BoundedWork { (try? LivenessProbe.outcome(of: target)) ?? .silent }))
        }
        let reading = try BoundedWork { [file, socket = settings.control.socket] in
            ControlClient(socket: socket, timeout: Self.patience / 2).reload(of: file)
        }
        (shared, questions) = try SourceVisit.outcome(
            of: settings, asking: offline ? [] : providersToAsk, asksShared: true, within: Self.patience)
        reload = reading.value(by: deadline) ?? nil
        for (address, work) in probes { answers[address] = work.value(by: deadline) ?? .silent }
    }

    /// Nil when the server is configured to have no control socket.
    private func askStatus() -> Result<Testimony, ControlError>? {
        let socket = settings.control.socket
        guard !socket.isEmpty else { return nil }
        return Result { () throws(ControlError) in
            try ControlClient(socket: socket, timeout: Self.patience).testimony()
        }
    }
}

/// Work on a thread of its own that is waited for until a point in time and no longer: a file on an unreachable file server,
/// or a program that is stopped, holds nothing up.
final class BoundedWork<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    private let ended: EventCounter

    /// Starts it.
    init(_ work: @escaping @Sendable () -> Value) throws(SystemError) {
        ended = try EventCounter()
        _ = try NamedThread("doctor") { [self] in
            let value = work()
            result.withLock { $0 = value }
            ended.post()
        }
    }

    /// The result; nil when there is none by `deadline`. Blocks until then.
    func value(by deadline: ContinuousClock.Instant) -> Value? {
        while true {
            if let value = result.withLock({ $0 }) { return value }
            let left = deadline - .now
            guard left > .zero else { return nil }
            ended.wait(atMost: left)
        }
    }
}

/// What a running server says of itself to `doctor` and `check`: what it is, what it asks, and what is wrong by its own report.
///
/// It travels as rows, each of which begins with a word. Rows of unknown words are passed over, and what is missing is empty.
struct Testimony: Sendable {
    /// As the server says it.
    var rows: [[String]]

    var version: String { rows.words("version").first ?? "" }
    /// The path of its configuration.
    var configuration: String { rows.words("config").first ?? "" }
    var pid: Int? { rows.words("pid").first.flatMap { Int($0) } }
    var listen: [AddressAndPort] { rows.words("listen").compactMap { AddressAndPort($0) } }
    /// Why the last reload was refused; empty when it was not.
    var reloadErrors: [String] { rows.words("reload-error") }
    /// Why files and addresses could not be used last.
    var failures: [String] { rows.words("failure") }
    /// The servers of LocalDNS.
    var localDNS: [String] { rows.words("localdns") }
    /// The addresses of all providers.
    var providerAddresses: [String] { rows.said("provider").flatMap { $0.dropFirst() } }

    /// The addresses of a provider; nil where the server has none of that name.
    func addresses(of provider: String) -> [String]? {
        rows.said("provider").first { $0.first == provider }.map { Array($0.dropFirst()) }
    }

    /// What is wrong, as a check says it.
    func found(by check: String) -> [Finding] {
        rows.said("finding").compactMap { cells in
            guard cells.count == 6, cells[0] == check, let severity = Finding.Severity(rawValue: cells[3]) else {
                return nil
            }
            return Finding(cells[2], severity, cells[4], mend: cells[5], of: cells[1])
        }
    }
}

// What it would say to a reload: a server may read less of a file than a command of root's, and has the environment of its
// start.

extension Testimony {
    private var isMendedByRestart: Bool { rows.contains(["restart-mends"]) }

    /// Why its next start fails; nil where it does not.
    var refusal: ConfigurationRefusal? {
        let errors = rows.words("error")
        guard !errors.isEmpty, !isMendedByRestart else { return nil }
        return ConfigurationRefusal(lines: errors + [Self.advice], warnings: rows.words("warning"))
    }

    /// Why a reload is refused although a start is not; empty where it is taken.
    var outdated: [String] { isMendedByRestart ? rows.words("error") : [] }

    static let advice =
        "so the running server reads it, which may read less than root: `chmod 644` for what is no secret, else LoadCredential= in its unit (Documentation/Operations.md)"
}

extension [[String]] {
    /// What stands behind a word, in each of the rows that begin with it.
    fileprivate func said(_ word: String) -> [[String]] {
        filter { $0.first == word }.map { [String]($0.dropFirst()) }
    }

    /// The first cell behind it, in each of them.
    fileprivate func words(_ word: String) -> [String] { said(word).compactMap(\.first) }
}

extension ControlClient {
    /// What the server says of itself.
    func testimony() throws(ControlError) -> Testimony { Testimony(rows: try get("/v1/status", as: .rows).rows) }

    /// What it would say to a reload; nil where no server of this version runs with the file at `path`.
    func reload(of path: String) -> Testimony? {
        guard let server = try? testimony(), server.configuration == path, server.version == Release.version,
            let reply = try? get("/v1/reload", as: .rows)
        else { return nil }
        return Testimony(rows: reply.rows)
    }
}
