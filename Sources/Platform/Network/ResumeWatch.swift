import CLinux
import Glibc
package import Scheduling

/// Reports when the machine resumes from sleep. Costs nothing while it is awake.
///
/// Timers and ages use CLOCK_BOOTTIME, which advances during sleep, and need no correction; but after a long sleep the
/// network is likely another one, and connections are dead. Setting the wall clock does not count as a sleep.
@Loop
package final class ResumeWatch {
    /// A shorter sleep leaves connections and networks intact.
    package nonisolated static let shortestSleep = Duration.seconds(5)

    private let descriptor: Descriptor
    private var watch: Watch?
    private var sleep: SleepCount

    /// - Parameter handler: called after each sleep of `shortestSleep` or more, with its length.
    package init(on loop: EventLoop, _ handler: @escaping @Loop (Duration) -> Void) throws(SystemError) {
        let number = try checked(clinux_clock_jump_create(), "watch for a resume (timerfd)")
        descriptor = Descriptor(owning: number)
        sleep = SleepCount(asleep: Self.timeAsleep)
        // Edge-triggered by re-arming: an unread descriptor stays readable.
        watch = try loop.watch(number, for: .readable) { [weak self] _ in
            _ = clinux_clock_jump_rearm(number)
            guard let self, let length = self.sleep.take(asleep: Self.timeAsleep) else { return }
            handler(length)
        }
    }

    /// Stops watching; `handler` is not called any more. The server watches as long as it runs: for tests, which share
    /// a loop.
    package func cancel() {
        watch?.cancel()
        watch = nil
    }

    /// How long the machine has slept since boot: CLOCK_MONOTONIC does not advance during sleep.
    private static var timeAsleep: Duration {
        var awake = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &awake)
        let boot = Instant.bootTime.nanoseconds
        return .nanoseconds(boot - (Int64(awake.tv_sec) * 1_000_000_000 + Int64(awake.tv_nsec)))
    }
}

/// Distinguishes sleeps from other jumps of clocks.
package struct SleepCount: Sendable {
    private var known: Duration

    /// - Parameter asleep: how long the machine has slept so far.
    package init(asleep: Duration) { known = asleep }

    /// The length of the sleep that has just ended; nil if there was none, or a shorter one than `shortestSleep`.
    package mutating func take(asleep: Duration) -> Duration? {
        let length = asleep - known
        known = asleep
        return length >= ResumeWatch.shortestSleep ? length : nil
    }
}
