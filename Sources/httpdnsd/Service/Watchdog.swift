import DNSServer
import Logs
import Platform
import Scheduling

/// Signs of life for a service manager that watches: while the loop and every UDP thread come round.
///
/// What hangs is restarted then. Without such a manager there is none of this, and an idle process is never woken.
@Loop
final class Watchdog {
    /// Signs of life within the manager's limit: two may be missed.
    private nonisolated static let frequency = 4

    private let server: Server
    private let clock: any LoopClock
    private let interval: Duration
    private let tell: @Loop () -> Void
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - limit: the longest time between two signs of life.
    ///   - tell: sends one.
    init(of server: Server, limit: Duration, clock: any LoopClock, tell: @escaping @Loop () -> Void) {
        self.server = server
        self.clock = clock
        self.tell = tell
        interval = limit / Self.frequency
        check()
    }

    /// Sends no more.
    func stop() {
        timer?.cancel()
        timer = nil
    }

    private func check() {
        if server.probeThreads() { tell() }
        timer = clock.schedule(after: interval) { [unowned self] in check() }
    }
}
