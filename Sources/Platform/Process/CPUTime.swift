import CLinux
import Glibc

/// The CPU time used so far.
package struct CPUTime: Sendable {
    /// CPU time of one thread.
    package var thread: Duration
    /// CPU time of the whole process, this thread included.
    package var process: Duration

    package init(thread: Duration, process: Duration) {
        self.thread = thread
        self.process = process
    }

    /// The values for the calling thread and its process; takes two system calls.
    package static var now: CPUTime {
        CPUTime(thread: used(CLOCK_THREAD_CPUTIME_ID), process: used(CLOCK_PROCESS_CPUTIME_ID))
    }

    private static func used(_ clock: clockid_t) -> Duration {
        var time = timespec()
        _ = clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
