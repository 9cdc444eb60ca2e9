import Admin
import Configuration
import DNSWire
import Platform
import Upstreams

/// What the checks look at, gathered once.
struct Examination: Sendable {
    /// How long the server is waited for: longer than a probe of it takes.
    private static let patience = Duration.seconds(2)
    /// The most listen addresses that are asked; the others count as answering.
    private static let mostProbes = 16

    /// The path of the configuration.
    let file: String
    let settings: Configuration
    /// Those of reading the file.
    let warnings: [String]
    let files: MachineFiles
    /// The listen addresses on which no server of ours answers, of those that this machine has.
    var unanswered: [AddressAndPort] = []
    /// Those of them on which another DNS server answers.
    var foreign: [AddressAndPort] = []
    /// The listen addresses on which what this machine asks is refused, and the address from which it was asked.
    var refusing: [AddressAndPort: IPAddress] = [:]
    /// What the running server says; nil when it is configured to have no control socket.
    var status: Result<StatusReport, ControlError>?

    /// What the shared cache did when it was asked from here; nil: it was not, or none is configured.
    var shared: SharedExamination?

    init(_ loaded: LoadedConfiguration, file: String, files: MachineFiles = MachineFiles(root: "")) {
        self.file = file
        settings = loaded.configuration
        warnings = loaded.warnings.map(\.description)
        self.files = files
    }

    var report: StatusReport? { try? status?.get() }

    /// The folder of the running server in `/proc`; nil where it cannot be seen, as from outside of its container.
    var process: String? {
        guard let pid = report?.pid, PortHolders(files).isServer(pid) else { return nil }
        return "/proc/\(pid)"
    }

    /// The listen addresses that this machine has, where a server can be asked.
    var served: [AddressAndPort] {
        settings.listen.addresses.filter { $0.port != 0 && SocketAddress($0)?.isOnThisMachine == true }
    }

    /// Asks the server, over DNS and over its control socket, and the shared cache, all at the same time.
    mutating func askServer() throws(SystemError) {
        let deadline = ContinuousClock.now + Self.patience
        var probes: [(address: AddressAndPort, work: BoundedWork<LivenessProbe.Outcome>)] = []
        for address in served.prefix(Self.mostProbes) {
            guard let target = SocketAddress(address.reachable) else { continue }
            probes.append((address, try BoundedWork { (try? LivenessProbe(target).outcome()) ?? .silent }))
        }
        let socket = settings.control.socket
        let report: BoundedWork<Result<StatusReport, ControlError>>? =
            socket.isEmpty
            ? nil
            : try BoundedWork {
                Result { () throws(ControlError) in
                    try ControlClient(socket: socket, timeout: Self.patience)
                        .get("/v1/status", as: StatusReport.self).report
                }
            }
        shared = try askSharedCache(Self.patience)
        status = report.map { $0.value(by: deadline) ?? .failure(.silent(socket)) }
        for (address, work) in probes {
            switch work.value(by: deadline) {
            case .serves?: break
            case .refuses(let client)?: refusing[address] = client
            case .foreign?:
                foreign.append(address)
                unanswered.append(address)
            case .silent?, nil: unanswered.append(address)
            }
        }
    }
}
