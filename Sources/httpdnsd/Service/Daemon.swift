import Configuration
import DNSServer
import DNSWire
import Glibc
import Logging
import Platform

/// The life of the server: bind, give up root, serve, drain.
final class Daemon {
    private let settings: Configuration
    private var source: ConfigurationSource
    private let log: LogOutput
    private let handover: Handover
    /// Whether another server that runs is replaced.
    private let replaces: Bool
    /// Whether the process gives up what it needs no more after the start.
    private let isSandboxed: Bool
    /// The server that is replaced, which serves until this one does; nil: none is.
    private var predecessor: Predecessor?
    /// The user that the server becomes; empty: it stays what it is.
    private let user: String

    init(
        _ settings: Configuration, source: ConfigurationSource, replaces: Bool, isSandboxed: Bool, log: LogOutput
    ) {
        self.replaces = replaces
        self.isSandboxed = isSandboxed
        self.settings = settings
        self.source = source
        self.log = log
        user = settings.listen.user.isEmpty ? settings.userInstead(of: source.path, log) : settings.listen.user
        self.source.startsAsRoot = geteuid() == 0 && !user.isEmpty
        handover = Handover(manager: ServiceManager(path: source.variables.process["NOTIFY_SOCKET"]), log: log)
    }

    /// The threads that receive from each address.
    private var threads: Int {
        settings.listen.udpThreads == 0 ? ControlGroups.threads() : settings.listen.udpThreads
    }

    /// Serves until a signal ends it. `Signal.block()` must have been called before the first thread was started.
    ///
    /// - Throws: when it cannot start; a server that was to be replaced has the reason then, and serves on.
    func run() throws {
        do {
            try start()
        } catch {
            predecessor?.refuse(because: "\(error)")
            throw error
        }
    }

    private func start() throws {
        let isEncrypted = settings.listen.isEncrypted
        let wanted = isEncrypted ? DescriptorLimit.wantedWhenEncrypted : DescriptorLimit.wanted
        let descriptors = DescriptorLimit.raise(to: wanted)
        let budget = DescriptorBudget(limit: descriptors, isEncrypted: isEncrypted)
        if budget.isReduced {
            log.logger.log(
                .startDescriptors,
                """
                only \(descriptors) descriptors may be open, so clients may have \(budget.connections) TCP connections, and \
                \(budget.queries) queries to LocalDNS may be under way: raise LimitNOFILE or ulimit -n to \
                \(wanted)
                """
            )
        }
        let limits = [
            ControlGroups().memory, MappingLimits().memory(receivers: threads * settings.listen.addresses.count),
        ]
        let memory = MemoryBudget(
            limit: settings.limits.memory ?? limits.compactMap(\.self).min(), cache: settings.cache.memory,
            encrypted: isEncrypted ? (settings.listen.https.isEmpty ? .tls : .https) : nil,
            asksClients: !settings.listen.clientCA.isEmpty)
        report(memory)
        let loop = try EventLoop()
        var passed = PassedDescriptor.inherited(source.variables.process)
        if replaces, let answer = try Predecessor.ask(at: settings.control.socket, log: log) {
            predecessor = answer.predecessor
            passed += answer.passed
        }
        let certificate = try settings.listen.tlsFiles?.read()
        let server = try makeServer(adopting: passed, on: loop)
        let control = makeControlSockets(adopting: passed)
        defer { control?.removeFiles() }
        makeCacheFolder()
        if !user.isEmpty {
            try Privileges.drop(to: user)
            forbidCoreDumps()
        }
        warnOfUnreadableCertificate()
        if isSandboxed { enterSandbox() }
        Loop.spawn { [settings, source] in
            await server.run(
                settings, from: source, presenting: certificate, descriptors: budget, memory: memory, control: control)
        }
        loop.run()
        // A second signal ends the loop before anything else does this.
        Loop.assumeIsolated { server.stopAdministration() }
        if let failure = Loop.assumeIsolated({ server.failure }) { throw failure }
    }

    /// Binds or takes over the sockets, for the server alone: so it gives the ports back as soon as it stops listening.
    private func makeServer(adopting passed: [PassedDescriptor], on loop: EventLoop) throws -> RunningServer {
        let sockets = try bind(adopting: passed)
        handover.discardWork(passed)
        let room = handover.store(sockets.descriptors, of: ServiceManager.storeSize(source.variables.process))
        return RunningServer(
            on: sockets, replacing: predecessor, leaving: handover, room: room, log: log, loop: loop)
    }

    /// Says so when a new certificate could not be taken while the server runs.
    private func warnOfUnreadableCertificate() {
        guard
            let problem = failure({ () throws(TLSFiles.Problem) in _ = try settings.listen.tlsFiles?.read() })
        else { return }
        log.logger.log(
            .configurationWarning,
            "\(problem), for user \(user): a new certificate is taken at the next start only")
    }

    private func report(_ memory: MemoryBudget) {
        guard let limit = memory.limit else { return }
        let cache = memory.cache(settings.cache.memory)
        log.logger.log(
            .startMemory,
            """
            memory is limited to \(limit >> 20) MiB: the cache has \(cache >> 20) MiB\
            \(cache < settings.cache.memory ? " instead of \(settings.cache.memory >> 20)" : ""), \(memory.queries) queries may \
            wait for an answer, \(memory.flights) questions be under way
            """)
    }

    /// Gives up what only the start needed. Without some of it DNS is served all the same.
    private func enterSandbox() {
        let manager = source.variables.process["NOTIFY_SOCKET"]
        var unixSockets: Set<UnixSocketKind> = settings.connectsToUnixSockets ? [.stream] : []
        if ServiceManager(path: manager) != nil { unixSockets.insert(.datagram) }
        let sandbox = Sandbox(
            files: [settings.cache.disk.path].filter { !$0.isEmpty },
            sockets: [settings.control.socket].filter { !$0.isEmpty }, unixSockets: unixSockets,
            // systemd may listen for our signs of life at such a name.
            abstractSockets: manager?.hasPrefix("@") == true)
        // The only other thread that runs by now.
        log.performOnThread { sandbox.enterThread() }
        let faults = sandbox.enter()
        let folders = sandbox.folders.isEmpty ? "nowhere" : "below \(sandbox.folders.joined(separator: " and ")) alone"
        log.logger.log(
            .startSandbox,
            faults.isEmpty
                ? "sandbox: no capabilities, no program is executed, files are written \(folders), system calls are filtered"
                : "sandbox: not all is in force: \(faults.map(\.description).joined(separator: "; "))")
    }

    /// Makes the folder of the cache on disk, which in the sandbox would be one in a folder of the system. What is in the
    /// way the cache itself says.
    private func makeCacheFolder() {
        guard !settings.cache.disk.path.isEmpty else { return }
        try? makeFolder(
            of: settings.cache.disk.path, for: user.isEmpty ? nil : try? Privileges.account(named: user), mode: 0o700)
    }

    /// The control sockets; nil when none is wanted, or none can be made: DNS is served all the same.
    private func makeControlSockets(adopting passed: [PassedDescriptor]) -> ControlSockets? {
        let path = settings.control.socket
        guard !path.isEmpty else { return nil }
        func find(_ kind: PassedKind) -> PassedDescriptor? { passed.first { $0.name == kind.rawValue } }
        do throws(SystemError) {
            let commands = try UnixListener(
                path, owner: user, group: settings.control.group, mode: settings.control.openTo.permissions,
                adopting: find(.commands))
            return ControlSockets(
                commands: commands, successor: successorSocket(beside: path, adopting: find(.successor)))
        } catch {
            let remark = "serving without a control socket; control.socket in the configuration names another place"
            log.logger.log(.startControlSocket, "\(error); \(remark)")
            return nil
        }
    }

    private func successorSocket(beside path: String, adopting passed: PassedDescriptor?) -> UnixListener? {
        do throws(SystemError) {
            return try UnixListener(
                Replacement.socket(beside: path), owner: user, keepsMessages: true, adopting: passed)
        } catch {
            log.logger.log(.startControlSocket, "\(error); `serve --replace` will not replace this server")
            return nil
        }
    }

    private func bind(adopting passed: [PassedDescriptor]) throws -> ServerSockets {
        var lists = settings.listen.lists.map(\.addresses)
        if !SocketAddress.isIPv6Supported, lists[0].contains(where: { $0.address.recordType == .a }) {
            let dropped = lists.flatMap(\.self).filter { $0.address.recordType == .aaaa }
            if !dropped.isEmpty {
                let list = dropped.map(\.description).joined(separator: ", ")
                log.logger.log(.startIPv4Only, "no IPv6 on this machine: serving IPv4 only, without \(list)")
            }
            lists = lists.map { $0.filter { $0.address.recordType == .a } }
        }
        let places = try lists.map { try $0.map(Self.socketAddress) }
        let (dns, tls, https, http) = (places[0], places[1], places[2], places[3])
        for address in places.joined() where !address.isOnThisMachine {
            log.logger.log(
                .startAddressAbsent,
                "no interface of this machine has \(address) yet: it is served as soon as one has (`ip address` lists them)",
                ["address": "\(address)"])
        }
        let adopted = handover.sort(
            passed, isHeld: predecessor != nil, for: dns, others: tls + https + http,
            threads: settings.listen.udpThreads)
        return try ServerSockets.bind(
            dns, tls: tls, https: https, http: http, threads: threads, adopting: adopted)
    }

    private static func socketAddress(_ endpoint: AddressAndPort) throws -> SocketAddress {
        guard let address = SocketAddress(endpoint) else {
            throw SystemError(
                code: ENODEV, operation: "listen on \(endpoint)", advice: "no interface \(endpoint.zone ?? "") is here")
        }
        return address
    }
}
