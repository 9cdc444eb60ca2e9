import CLinux

/// The number of CPUs that this process may use; sets the threads for `udp_threads = 0`.
package enum CPUBudget {
    /// More UDP threads than this have shown no benefit by themselves.
    package static let most = 4

    /// The number of UDP threads to start, 1 to 4: the CPUs in our affinity mask, at most the quota of the control
    /// group.
    package static func threads() -> Int {
        threads(affinity: Int(clinux_affinity_count()), quota: ControlGroups().cpus)
    }

    /// The computation alone. `affinity` under 1 means unknown; `quota` is in CPUs, `nil` for no limit.
    package static func threads(affinity: Int, quota: Double?) -> Int {
        var threads = min(most, max(1, affinity))
        if let quota { threads = min(threads, max(1, Int(min(quota, Double(most)).rounded(.up)))) }
        return threads
    }
}
