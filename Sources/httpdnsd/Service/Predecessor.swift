import DNSServer
import Platform
import Scheduling

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
            return (Predecessor(link: link, log: log, reserve: try Self.reserve()), passed)
        } catch {
            guard case .ended = error else {
                try? link.say(.failed("\(error)"))
                throw .refused("the server at \(control) is not replaced: \(error)")
            }
            log.logger.log(.startNotReplaced, "no server was replaced: it has ended")
            return nil
        }
    }

    private static func reserve() throws(Replacement.Failure) -> PassedDescriptor {
        do throws(SystemError) {
            return try PassedDescriptor([0], name: "reserve")
        } catch {
            throw .system(error)
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
