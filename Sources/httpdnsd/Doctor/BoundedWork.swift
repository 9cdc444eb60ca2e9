import Platform
import Synchronization

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
