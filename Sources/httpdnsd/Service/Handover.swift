import Admin
import DNSServer
import Platform
import Scheduling

/// The sockets and the unfinished work that one process leaves to the next, stored by the service manager meanwhile
/// (systemd's fd store).
struct Handover: Sendable {
    /// Nil without a service manager.
    let manager: ServiceManager?
    let log: LogOutput

    /// Sorts what was passed to this process, and closes what does not fit its configuration.
    ///
    /// - Parameters:
    ///   - others: the addresses of `listen.tls`, `listen.https` and `listen.httpdns`.
    ///   - threads: `listen.udp_threads`; 0: as many as there are sockets.
    func sort(
        _ passed: [PassedDescriptor], for addresses: [SocketAddress], others: [SocketAddress], threads: Int
    ) -> PassedSockets {
        var sockets = PassedSockets(passed)
        for failure in sockets.failures { log.logger.log(.startSocketsClosed, "\(failure)") }
        let closed = sockets.closeUnfit(addresses, others: others, threads: threads == 0 ? nil : threads)
        guard !closed.isEmpty else { return sockets }
        log.logger.log(
            .startSocketsClosed,
            "the configuration has changed, so these sockets of the process before are closed: \(closed.joined(separator: ", "))"
        )
        discard([.udp, .replies, .tcp, .tls, .https, .http]) { manager throws(SystemError) in
            // Until the manager has closed them, their ports cannot be bound.
            try manager.synchronize()
        }
        return sockets
    }

    /// Has the manager forget the work that was passed, once this process is sure to take it up: it is taken up once, and
    /// connections that are stored would never close.
    func discardWork(_ passed: [PassedDescriptor]) {
        let kinds: Set<PassedKind> = [.connection, .queries]
        discard(kinds.intersection(passed.compactMap { PassedKind(rawValue: $0.name) }))
    }

    private func discard(
        _ kinds: Set<PassedKind>, then body: (ServiceManager) throws(SystemError) -> Void = { _ in }
    ) {
        tell { manager throws(SystemError) in
            for kind in PassedKind.allCases where kinds.contains(kind) { try manager.discard(kind.rawValue) }
            try body(manager)
        }
    }

    /// Has the manager keep the sockets for the next process, also after a crash.
    ///
    /// - Parameter size: how many descriptors it keeps.
    /// - Returns: how many more it can keep; 0 when it keeps none.
    func store(_ sockets: [(kind: PassedKind, numbers: [Int32])], of size: Int) -> Int {
        let room = size - sockets.reduce(0) { $0 + $1.numbers.count }
        guard manager != nil, room > 0 else { return 0 }
        let isSent = tell { manager throws(SystemError) in
            for (kind, numbers) in sockets { try manager.store(numbers, as: kind.rawValue) }
        }
        return isSent ? room : 0
    }

    /// Has the manager keep what a server did not finish.
    func leave(_ work: UnfinishedWork) {
        tell { manager throws(SystemError) in
            let left = try work.descriptors()
            // The file comes last: it tells that everything has been passed.
            for kind in [PassedKind.connection, .queries] {
                try manager.store(left.filter { $0.kind == kind }.compactMap(\.descriptor.number), as: kind.rawValue)
            }
        }
    }

    /// - Returns: whether that succeeded.
    @discardableResult
    private func tell(_ body: (ServiceManager) throws(SystemError) -> Void) -> Bool {
        guard let manager else { return false }
        do throws(SystemError) {
            try body(manager)
            return true
        } catch {
            log.logger.log(.serviceManager, "\(error)")
            return false
        }
    }
}

/// The server that runs already, and is replaced by this process.
struct Predecessor {
    /// How long it may take to pass on what it has.
    private static let patience: Duration = .seconds(5)
    /// How often the outcome of the request is looked at.
    private static let interval: Duration = .milliseconds(20)

    /// The path of its control socket.
    let control: String
    let log: LogOutput

    /// The path of the socket by which a server passes on what it has. It listens there from its start on: later it can
    /// make no such socket.
    static func socket(beside control: String) -> String { control + ".replace" }

    /// Has it pass on its sockets and its unfinished work; it ends then. Blocks the calling thread meanwhile.
    ///
    /// - Returns: nothing when no server runs there; the log has the reason then.
    func takeOver() -> [PassedDescriptor] {
        var passed: [PassedDescriptor] = []
        do throws(SystemError) {
            let socket = NoticeSocket(
                try .connected(toUnixSocket: Self.socket(beside: control), keepsMessages: true))
            // Its response may come after the descriptors, or not at all, for then the server ends.
            let request = try BoundedWork("replace") { [control] in
                Result { () throws(ControlError) in
                    try ControlClient(socket: control, timeout: Self.patience).post("/v1/handover", as: .text)
                }
            }
            let deadline = Instant.bootTime + Self.patience
            while Instant.bootTime < deadline {
                let hasEnded = socket.hasEnded
                if let notice = socket.receive(within: Self.interval) {
                    passed += notice.descriptors
                    // The last that it passes.
                    if passed.last?.name == PassedKind.queries.rawValue { return passed }
                } else if let failure = Self.failure(request) ?? (hasEnded ? "it has ended" : nil) {
                    log.logger.log(.startNotReplaced, "no server was replaced: \(failure)")
                    return passed
                }
            }
            log.logger.log(.startNotReplaced, "the server at \(control) does not pass on what it has")
        } catch {
            log.logger.log(.startNotReplaced, "no server was replaced: \(error)")
        }
        return passed
    }

    /// Why the request has failed; nil while it has not.
    private static func failure<Reply>(_ request: BoundedWork<Result<Reply, ControlError>>) -> String? {
        if case .failure(let error)? = request.value(by: .now) { error.text } else { nil }
    }
}

/// The Unix sockets of a server: for commands, and for the process that replaces it.
struct ControlSockets: Sendable {
    let commands: UnixListener
    /// Where a process waits that has asked for all that this one has; nil where none could be made.
    let successor: UnixListener?

    /// Removes their files, so that another process can make its own there. A second call does nothing.
    func removeFiles() {
        commands.removeFile()
        successor?.removeFile()
    }
}
