import Admin
import DNSServer
import Platform
import Scheduling

/// The sockets and the unfinished work that one process leaves to the next, stored by the service manager meanwhile
/// (systemd's fd store). `Replacement` is the way without one.
struct Handover: Sendable {
    /// Nil without a service manager.
    let manager: ServiceManager?
    let log: LogOutput

    /// Sorts what was passed to this process, and closes what does not fit its configuration.
    ///
    /// - Parameters:
    ///   - isHeld: whether the server that has passed them still serves by them.
    ///   - others: the addresses of `listen.tls`, `listen.https` and `listen.httpdns`.
    ///   - threads: `listen.udp_threads`; 0: as many as there are sockets.
    func sort(
        _ passed: [PassedDescriptor], isHeld: Bool, for addresses: [SocketAddress], others: [SocketAddress],
        threads: Int
    ) -> PassedSockets {
        var sockets = PassedSockets(passed, isHeld: isHeld)
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
