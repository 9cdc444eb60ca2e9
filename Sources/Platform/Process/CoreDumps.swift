import CLinux
import Glibc

/// Images of the process's memory, with the secrets in it, that the kernel writes when it crashes.
package enum CoreDumps {
    /// Has none be written, neither to a file nor to a program (core(5)), and has only root read the memory.
    ///
    /// To be called before secrets are read, and once more after becoming another user, which may take it back.
    package static func forbid() {
        clinux_make_undumpable()
        // A second line, and what `/proc/PID/limits` shows.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Whether the kernel may write one, as far as the process itself has a say.
    package static var areAllowed: Bool { clinux_is_dumpable() != 0 }
}
