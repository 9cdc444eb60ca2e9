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
    private let loaded: LoadedConfiguration
    let files: MachineFiles
    /// What answers on the listen addresses that were asked.
    var answers: [AddressAndPort: LivenessProbe.Outcome] = [:]
    /// What the running server says; nil when it is configured to have no control socket.
    var status: Result<Testimony, ControlError>?

    /// What the running server says of the file as it can read it; nil where none runs with that.
    var reader: RunningReader?
    /// Why a provider has not answered a question of ours, by the provider's name; nil where it has. Empty: none was asked.
    var questions: [String: String?] = [:]
    /// Whether this machine has a route to an address.
    var hasRoute: @Sendable (SocketAddress) -> Bool = { $0.isRouted }

    /// What the shared cache did when it was asked from here; nil: it was not, or none is configured.
    var shared: SharedExamination?

    init(_ loaded: LoadedConfiguration, file: String, files: MachineFiles = MachineFiles(root: "")) {
        self.file = file
        self.loaded = loaded
        self.files = files
    }

    var settings: Configuration { loaded.configuration }
    /// Those of reading the file.
    var warnings: [String] { loaded.warnings.map(\.description) }
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
        var probes: [(address: AddressAndPort, work: BoundedWork<LivenessProbe.Outcome>)] = []
        for address in served.prefix(Self.mostProbes) {
            guard let target = SocketAddress(address.reachable) else { continue }
            probes.append((address, try BoundedWork { (try? LivenessProbe(target).outcome()) ?? .silent }))
        }
        let reading = try BoundedWork { [file, socket = settings.control.socket] in
            RunningReader(of: file, at: socket, within: Self.patience / 2)
        }
        (shared, questions) = try SourceVisit.outcome(
            of: settings, asking: offline ? [] : providersToAsk, asksShared: true, within: Self.patience)
        reader = reading.value(by: deadline) ?? nil
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

    /// Those that the server would ask: none while HTTPDNS is not in use, and none whose limit of calls is reached, or that has
    /// refused the account.
    private var providersToAsk: [Configuration.ProviderEntry] {
        let isOff = report?.found(by: "switch").isEmpty == false
        guard settings.route.mode != .localDNSOnly, !isOff else { return [] }
        let unasked = (report?.found(by: "providers") ?? []).filter(\.isOfAccount).map(\.provider)
        return settings.providers.filter { !unasked.contains($0.name) }
    }
}

extension Finding {
    /// Whether the provider's calls are used up, or it refuses the account.
    fileprivate var isOfAccount: Bool { ["provider.refused", "provider.exhausted", "provider.disabled"].contains(key) }
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
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else { return nil }
            ended.wait(atMost: Int32(min(left.rounded(.up), 60_000)))
        }
    }
}
