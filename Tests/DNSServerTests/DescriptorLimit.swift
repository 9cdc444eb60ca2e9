import Glibc
import TestSupport

/// Lowers the limit of open files of this process.
struct DescriptorLimit {
    private let before: rlimit

    /// Leaves `free` descriptors that can still be opened. Unused numbers below the highest open one are filled
    /// permanently.
    init(free: Int) throws {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw TestFailure("getrlimit")
        }
        before = limit
        var probe = stat()
        let highest = (0..<Int32(4_096)).last { fstat($0, &probe) == 0 } ?? 2
        var next = dup(0)
        while next >= 0, next <= highest { next = dup(0) }
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
