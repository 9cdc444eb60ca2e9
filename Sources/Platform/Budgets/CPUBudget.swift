import CLinux

/// How many CPUs this process may keep busy: what `udp_threads = 0` goes by.
package enum CPUBudget {
    /// More UDP threads than this never paid off by themselves.
    package static let most = 4

    /// The number of UDP threads to start, 1 to 4: CPUs we may run on, and the ceiling of the control group's quota.
    package static func threads() -> Int {
        threads(affinity: Int(clinux_affinity_count()), quota: ControlGroups().cpus)
    }

    /// The rule alone. `affinity` under 1 means unknown; `quota` counts CPUs, `nil` for no limit.
    package static func threads(affinity: Int, quota: Double?) -> Int {
        var threads = min(most, max(1, affinity))
        if let quota { threads = min(threads, max(1, Int(min(quota, Double(most)).rounded(.up)))) }
        return threads
    }
}
