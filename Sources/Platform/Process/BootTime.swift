import CLinux
import Glibc
package import Scheduling

extension Instant {
    /// The present time on CLOCK_BOOTTIME. May be called from any thread; costs no system call.
    package static var bootTime: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
