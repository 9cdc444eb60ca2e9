import Admin
import DNSServer
import DNSWire
import Glibc
import Platform

/// How a process takes the place of a server that runs (`serve --replace`), and what both say to each other.
///
/// They talk over one connection to the Unix socket beside the server's control socket, in messages as a service manager
/// gets them (sd_notify(3)):
///
/// 1. The new process connects. A server hands over to one at a time: others wait in the queue of that socket, which the
///    next server has, too.
/// 2. The old one passes duplicates of all its sockets, then `sockets`. It serves on.
/// 3. The new one does everything that can fail: files, certificates, sockets, user, sandbox, loop and signals. Then it says
///    `prepared`.
/// 4. The old one writes the cache's file, closes it, and says `fileClosed`. It serves on from memory.
/// 5. The new one reads that file, begins to answer beside the old one, and says `serving`. By this message alone the
///    service passes on: before it the old one serves as if nothing had been asked, with it the new one does.
/// 6. The old one stops, passes its TCP connections and the queries that it has not answered, then `work`, and ends.
///
/// A process that cannot go on says `failed` with the reason, and ends the connection; as an end without a word counts the death of
/// a process, and silence of `patience`. Until `serving` the old one goes on after each of these, and the new one ends with
/// the reason; only where the old one has died the new one goes on alone. What comes too late is refused: an end that waits
/// no longer receives nothing more, so that a process which was stopped meanwhile learns it from its next message.
enum Replacement {
    /// How long a process waits for the other one's next word.
    static let patience: Duration = .seconds(10)
    /// How long a new process waits until a server gives it its sockets: others may be before it.
    static let turnPatience: Duration = .seconds(30)
    /// How often it is looked whether there is one.
    fileprivate static let pause: Duration = .milliseconds(1)

    /// The path of the socket at which a server listens for its successor. It does from its start on: later it can make no
    /// such socket.
    static func socket(beside control: String) -> String { control + ".replace" }

    /// A step that is done.
    enum Word: Equatable {
        case sockets, prepared, fileClosed, serving, work
        case failed(String)

        private static let (key, reason) = ("REPLACE=", "REASON=")
        private static let names: [(word: Word, name: String)] = [
            (.sockets, "sockets"), (.prepared, "prepared"), (.fileClosed, "file-closed"), (.serving, "serving"),
            (.work, "work"),
        ]

        /// Nil for a message that only passes descriptors.
        init?(_ lines: [String]) {
            func value(of key: String) -> String? {
                lines.first { $0.hasPrefix(key) }.map { String($0.dropFirst(key.count)) }
            }
            guard let name = value(of: Self.key) else { return nil }
            self =
                Self.names.first { $0.name == name }?.word ?? .failed(value(of: Self.reason) ?? "it says \(name)")
        }

        var message: String {
            if case .failed(let reason) = self {
                let line = reason.split(separator: "\n").joined(separator: "; ").prefix(1_000)
                return "\(Self.key)failed\n\(Self.reason)\(line)"
            }
            return Self.key + (Self.names.first { $0.word == self }?.name ?? "")
        }
    }

    /// Why the service does not pass on.
    enum Failure: Error, CustomStringConvertible {
        /// The other process has died, or has ended the connection.
        case ended
        case silent(Duration)
        /// The other process says why.
        case refused(String)
        /// A signal has ended this process before.
        case stopped
        case system(SystemError)

        var description: String {
            switch self {
            case .ended: "the other process has ended"
            case .silent(let limit): "the other process has said nothing for \(limit.wholeSeconds) s"
            case .refused(let reason): reason
            case .stopped: "a signal has ended this process"
            case .system(let error): "\(error)"
            }
        }

        /// Calls what may fail in the system.
        static func system<Value>(_ body: () throws(SystemError) -> Value) throws(Failure) -> Value {
            do throws(SystemError) {
                return try body()
            } catch {
                throw .system(error)
            }
        }
    }

    /// One end of the connection.
    struct Link: Sendable {
        private let socket: NoticeSocket

        init(_ socket: NoticeSocket) { self.socket = socket }

        /// The other process, where it has made the connection.
        var process: String { socket.process.map { "process \($0)" } ?? "another process" }

        func say(_ word: Word) throws(Failure) {
            try send { socket throws(SystemError) in try socket.send(word.message) }
        }

        func pass(_ descriptors: [(kind: PassedKind, numbers: [Int32])]) throws(Failure) {
            try send { socket throws(SystemError) in
                for (kind, numbers) in descriptors { try socket.store(numbers, as: kind.rawValue) }
            }
        }

        /// Passes what a server has not finished.
        func pass(_ work: UnfinishedWork) throws(Failure) {
            try send { socket throws(SystemError) in
                try work.lend { queries, connections throws(SystemError) in
                    // Of connections those may be closed for which the next process has no descriptor.
                    try socket.store(queries, as: PassedKind.queries.rawValue)
                    try socket.store(connections, as: PassedKind.connection.rawValue)
                }
            }
            try say(.work)
        }

        private func send(_ body: (NoticeSocket) throws(SystemError) -> Void) throws(Failure) {
            do throws(SystemError) {
                try body(socket)
            } catch {
                guard [EPIPE, ECONNRESET, ECONNREFUSED, ENOTCONN].contains(error.code) else { throw .system(error) }
                // What the other one has said before tells more.
                var descriptors: [PassedDescriptor] = []
                _ = try take(.failed(""), &descriptors)
                throw .refused("the other process waits no longer")
            }
        }

        /// Returns what was passed before the other process has said a word.
        @Loop
        func wait(for word: Word, clock: any LoopClock) async throws(Failure) -> [PassedDescriptor] {
            var descriptors: [PassedDescriptor] = []
            let end = clock.now + Replacement.patience
            while try !take(word, &descriptors, within: Replacement.patience, isOver: clock.now >= end) {
                await clock.sleep(until: clock.now + Replacement.pause)
            }
            return descriptors
        }

        /// The same before the loop runs: blocks the calling thread.
        func wait(for word: Word, within limit: Duration) throws(Failure) -> [PassedDescriptor] {
            var descriptors: [PassedDescriptor] = []
            let end = Instant.bootTime + limit
            while try !take(word, &descriptors, within: limit, isOver: .bootTime >= end) {
                usleep(UInt32(Replacement.pause / .microseconds(1)))
            }
            return descriptors
        }

        /// Ends the connection without a word.
        func end() { socket.end() }

        /// Takes what is there, up to a word. Returns whether that has come.
        private func take(_ word: Word, _ descriptors: inout [PassedDescriptor]) throws(Failure) -> Bool {
            let hasEnded = socket.hasEnded
            while let notice = socket.next() {
                guard notice.isWhole || word == .work else {
                    throw .system(
                        SystemError(
                            code: EMFILE, operation: "take what the other process passes",
                            advice: "raise LimitNOFILE or ulimit -n"))
                }
                descriptors += notice.descriptors
                switch Word(notice.lines) {
                case word?: return true
                case .failed(let reason)?: throw .refused(reason)
                default: continue
                }
            }
            if hasEnded { throw .ended }
            return false
        }

        /// The same within a time. Once that is over nothing more is received but what has come before.
        private func take(
            _ word: Word, _ descriptors: inout [PassedDescriptor], within limit: Duration, isOver: Bool
        ) throws(Failure) -> Bool {
            if try take(word, &descriptors) { return true }
            guard isOver else { return false }
            socket.endReceiving()
            guard try take(word, &descriptors) else { throw .silent(limit) }
            return true
        }
    }
}

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
            try work.lend { queries, connections throws(SystemError) in
                // The file comes last: it tells that everything has been passed.
                try manager.store(connections, as: PassedKind.connection.rawValue)
                try manager.store(queries, as: PassedKind.queries.rawValue)
            }
        }
    }

    /// Tells the manager how this process is.
    func tell(_ state: ServiceManager.State) { tell { manager throws(SystemError) in try manager.tell(state) } }

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
