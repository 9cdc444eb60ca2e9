import CLinux
import Glibc

/// Core dumps: images of the process's memory, secrets included, that the kernel writes when it crashes.
package enum CoreDumps {
    /// Prevents core dumps, to a file or to a program (core(5)), and makes the memory readable by root only.
    ///
    /// Called before secrets are read, and once more after changing the user, which may undo it.
    package static func forbid() {
        clinux_make_undumpable()
        // A second safeguard, which `/proc/PID/limits` shows.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Whether the kernel may write one, as far as the process itself controls that.
    package static var areAllowed: Bool { clinux_is_dumpable() != 0 }
}
