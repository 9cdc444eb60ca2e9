import DNSWire
import Logs
import Scheduling
import Synchronization

/// Counts the queries of clients that are refused for one reason, and reports them to the log: at once, and then at most
/// once a second, so that a flood of them costs the loop nothing.
final class RefusedClients: Sendable {
    private static let interval: Duration = .seconds(1)

    private let number = Atomic<Int>(0)
    /// Whether a query was reported within the interval.
    private let isReported = Atomic<Bool>(false)
    private let report = Mutex<(@Sendable (IPAddress) -> Void)?>(nil)

    /// Queries since the start.
    var count: Int { number.load(ordering: .relaxed) }

    /// Counts a query. May be called from any thread.
    func add(_ client: IPAddress) {
        number.wrappingAdd(1, ordering: .relaxed)
        guard !isReported.load(ordering: .relaxed), !isReported.exchange(true, ordering: .relaxed) else { return }
        report.withLock { $0 }?(client)
    }

    /// Reports to `events` from now on.
    ///
    /// - Parameter text: of a client, and of how many queries were refused.
    func report(
        to events: EventLog, clock: any LoopClock, text: @escaping @Sendable (IPAddress, Int) -> String
    ) {
        report.withLock {
            $0 = { [weak self] client in
                Loop.spawn {
                    guard let self else { return }
                    events.report(LogMessage(.clientRefused, about: "", text(client, self.count)))
                    _ = clock.schedule(after: Self.interval) { [weak self] in
                        self?.isReported.store(false, ordering: .relaxed)
                    }
                }
            }
        }
    }
}
