import Glibc
import TestSupport

/// Lowers the limit of open files of this process.
struct DescriptorLimit {
    private let before: rlimit

    /// Leaves `free` descriptors that can still be opened; none must be free below the highest open one.
    init(free: Int) throws {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw TestFailure("getrlimit")
        }
        before = limit
        // The lowest free number tells how many are open when there are no gaps.
        let next = dup(0)
        close(next)
        limit.rlim_cur = rlim_t(Int(next) + free)
        guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw TestFailure("setrlimit")
        }
    }

    func restore() {
        var limit = before
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
