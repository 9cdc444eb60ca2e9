import Glibc

/// The limit of open descriptors of the process.
package enum DescriptorLimit {
    /// Enough for every connection and channel that our own limits allow, with a margin.
    package static let wanted = 8_192

    /// The soft limit in force; 0 when it cannot be read.
    package static var current: Int {
        var limit = rlimit()
        return unsafe getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    /// As many as are wanted where encrypted connections are served.
    package static let wantedWhenEncrypted = wanted + DescriptorBudget.encryptedConnections

    /// Raises the soft limit to `wanted`, or to the hard limit if that is lower.
    ///
    /// - Returns: the soft limit now in force.
    @discardableResult
    package static func raise(to wanted: Int = wanted) -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { return 0 }
        if limit.rlim_cur < rlim_t(wanted) {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            _ = unsafe setrlimit(resource, &limit)
            _ = unsafe getrlimit(resource, &limit)
        }
        return Int(clamping: limit.rlim_cur)
    }
}
