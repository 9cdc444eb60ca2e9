import CLinux
import Glibc
package import Scheduling

extension Instant {
    /// The present on CLOCK_BOOTTIME. From any thread; costs no system call.
    package static var bootTime: Instant {
        var time = timespec()
        _ = clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
