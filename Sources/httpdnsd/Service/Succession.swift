import DNSServer
import DNSWire
import DiskCache
import Platform

/// Hands a server over to the process that takes its place, when one asks.
@Loop
final class Succession {
    /// How far it is.
    private enum State {
        /// No process takes over; the watch of the socket where one may ask.
        case serving(Watch?)
        /// One has the sockets, and prepares.
        case preparing(Replacement.Link)
        /// It has the file of the cache, too, and begins to serve.
        case starting(Replacement.Link)
        /// It serves, and gets what this server has not finished.
        case replaced(Replacement.Link)
        /// This server stops.
        case stopped
    }

    /// How long no process is accepted after descriptors have run out.
    private nonisolated static let pause: Duration = .seconds(1)

    private let service: DNSService
    private let listener: UnixListener
    private let sockets: @Loop () -> [(kind: PassedKind, numbers: [Int32])]
    private let onReplaced: @Loop () -> Void
    private var state = State.serving(nil)

    /// - Parameters:
    ///   - sockets: all that the next process gets.
    ///   - onReplaced: called once it serves: this server is to stop, and to pass on to `next` what is unfinished.
    init(
        of service: DNSService, at listener: UnixListener,
        passing sockets: @escaping @Loop () -> [(kind: PassedKind, numbers: [Int32])],
        onReplaced: @escaping @Loop () -> Void
    ) {
        self.service = service
        self.listener = listener
        self.sockets = sockets
        self.onReplaced = onReplaced
    }

    /// Whether another process takes over right now.
    var isUnderWay: Bool {
        switch state {
        case .preparing, .starting: true
        case .serving, .replaced, .stopped: false
        }
    }

    /// The process that serves in the place of this one; nil: none does.
    var next: Replacement.Link? { if case .replaced(let link) = state { link } else { nil } }

    /// Hands over to the processes that ask from now on.
    func begin() {
        state = .serving(nil)
        do throws(SystemError) {
            guard let number = listener.number else { return }
            state = .serving(try service.loop.watch(number, for: .readable) { [unowned self] _ in accept() })
        } catch {
            service.log.logger.log(.startControlSocket, "\(error); `serve --replace` will not replace this server")
        }
    }

    /// Hands over to none any more: this server stops. A process that is about to take over goes on alone.
    ///
    /// - Returns: whether another process goes on.
    func stop() -> Bool {
        switch state {
        case .serving(let watch):
            watch?.cancel()
            state = .stopped
            return false
        case .preparing(let link), .starting(let link):
            link.end()
            state = .stopped
            return true
        case .replaced: return true
        case .stopped: return false
        }
    }

    private func accept() {
        guard case .serving(let watch) = state else { return }
        do throws(SystemError) {
            guard let socket = try listener.acceptNext() else { return }
            watch?.cancel()
            let link = Replacement.Link(socket)
            state = .preparing(link)
            Loop.spawn { [self] in await handOver(to: link) }
        } catch {
            service.log.logger.log(.notReplaced, "no process can take over: \(error)")
            watch?.cancel()
            state = .serving(nil)
            _ = service.loop.schedule(after: Self.pause) { [weak self] in
                if case .serving(nil)? = self?.state { self?.begin() }
            }
        }
    }

    private func handOver(to link: Replacement.Link) async {
        do throws(Replacement.Failure) {
            try link.pass(sockets())
            try link.say(.sockets)
            _ = try await link.wait(for: .prepared, clock: service.loop)
            if case .preparing = state { state = .starting(link) }
            await service.disk?.pause(clock: service.loop)
            try link.say(.fileClosed)
            _ = try await link.wait(for: .serving, clock: service.loop)
        } catch {
            return goOn(without: link, error)
        }
        guard isUnderWay else { return }
        state = .replaced(link)
        onReplaced()
    }

    private func goOn(without link: Replacement.Link, _ failure: Replacement.Failure) {
        let place: String
        switch state {
        case .serving, .replaced, .stopped: return
        case .preparing: place = "while it prepared"
        case .starting: place = "when it was about to serve"
        }
        try? link.say(.failed("the server that runs serves on: \(failure)"))
        service.disk?.resume()
        service.log.logger.log(
            .notReplaced, "\(link.process) was to take over, and failed \(place): \(failure); this one serves on")
        begin()
    }
}

/// The server that runs already, and is replaced by this process.
struct Predecessor: Sendable {
    private let link: Replacement.Link
    private let log: LogOutput
    /// Its descriptor is one for the file of the queries, whatever else is open by then.
    private let reserve: PassedDescriptor

    /// Asks the server beside this control socket for its sockets; it serves on. Blocks until all have come.
    ///
    /// - Returns: nil when no server runs there; the log has the reason then.
    /// - Throws: when one runs, and gives none.
    static func ask(
        at control: String, log: LogOutput
    ) throws(Replacement.Failure) -> (predecessor: Predecessor, passed: [PassedDescriptor])? {
        let link: Replacement.Link
        do throws(SystemError) {
            link = .init(
                NoticeSocket(
                    try .connected(toUnixSocket: Replacement.socket(beside: control), keepsMessages: true)))
        } catch {
            log.logger.log(.startNotReplaced, "no server was replaced: \(error)")
            return nil
        }
        do throws(Replacement.Failure) {
            let passed = try link.wait(for: .sockets, within: Replacement.turnPatience)
            let reserve = try Replacement.Failure.system { () throws(SystemError) in
                try PassedDescriptor([0], name: "reserve")
            }
            return (Predecessor(link: link, log: log, reserve: reserve), passed)
        } catch {
            guard case .ended = error else {
                try? link.say(.failed("\(error)"))
                throw .refused("the server at \(control) is not replaced: \(error)")
            }
            log.logger.log(.startNotReplaced, "no server was replaced: it has ended")
            return nil
        }
    }

    /// Says that everything is prepared. Returns once the file of the cache is closed.
    ///
    /// - Throws: when the server has given this process up.
    @Loop
    func waitForFile(clock: any LoopClock) async throws(Replacement.Failure) {
        do throws(Replacement.Failure) {
            try link.say(.prepared)
            _ = try await link.wait(for: .fileClosed, clock: clock)
        } catch {
            try goOnAlone(after: error)
        }
    }

    /// Says that this process serves: from now on it alone does.
    ///
    /// - Throws: when the server has given this process up, and serves on.
    func takeOver() throws(Replacement.Failure) {
        do throws(Replacement.Failure) {
            try link.say(.serving)
        } catch {
            try goOnAlone(after: error)
        }
    }

    /// Where the other server has died, this one serves in any case.
    private func goOnAlone(after failure: Replacement.Failure) throws(Replacement.Failure) {
        guard case .ended = failure else { throw failure }
        log.logger.log(
            .startNotReplaced, "the server that is replaced has ended by itself: this one goes on with its sockets")
    }

    /// What it had not finished.
    @Loop
    func work(clock: any LoopClock) async -> UnfinishedWork {
        _ = reserve.take()
        do throws(Replacement.Failure) {
            return PassedSockets(try await link.wait(for: .work, clock: clock)).work
        } catch {
            log.logger.log(
                .startNotReplaced, "the queries that the server before had not answered are lost: \(error)")
            return UnfinishedWork()
        }
    }

    /// Returns once it has ended, and with it has all that it held, or after `Replacement.patience`.
    @Loop
    func waitForEnd(clock: any LoopClock) async { _ = try? await link.wait(for: .failed(""), clock: clock) }

    /// Says why this process does not take over.
    func refuse(because reason: String) { try? link.say(.failed(reason)) }
}

/// The Unix sockets of a server: for commands, and for the process that replaces it.
struct ControlSockets: Sendable {
    let commands: UnixListener
    /// Where a process asks that is to take over; nil where none could be made.
    let successor: UnixListener?

    /// The files are this process's from now on.
    func takeFiles() { for each in all { each.takeFile() } }

    /// They are another process's from now on.
    func leaveFiles() { for each in all { each.leaveFile() } }

    /// Removes them, so that another process can make its own there. A second call does nothing.
    func removeFiles() { for each in all { each.removeFile() } }

    private var all: [UnixListener] { [commands] + [successor].compactMap(\.self) }
}
