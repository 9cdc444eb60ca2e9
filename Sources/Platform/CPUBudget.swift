import CLinux

/// How many CPUs this process may keep busy: what `udp_threads = 0` goes by.
package enum CPUBudget {
    /// More UDP threads than this never paid off by themselves.
    package static let most = 4

    /// The number of UDP threads to start, 1 to 4: CPUs we may run on, and the ceiling of the control group's quota.
    package static func threads() -> Int {
        threads(affinity: Int(clinux_affinity_count()), quota: quota(readingWith: text))
    }

    private static func text(_ path: String) -> String? {
        (try? readFile(path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The rule alone. `affinity` under 1 means unknown; `quota` counts CPUs, `nil` for no limit.
    package static func threads(affinity: Int, quota: Double?) -> Int {
        var threads = min(most, max(1, affinity))
        if let quota { threads = min(threads, max(1, Int(min(quota, Double(most)).rounded(.up)))) }
        return threads
    }

    /// The CPUs granted by the control groups we are in, in version 2 or 1; the tightest of them; `nil` without a limit.
    ///
    /// - Parameter read: returns a file's text, `nil` if there is none.
    package static func quota(readingWith read: (String) -> String?) -> Double? {
        let groups = read("/proc/self/cgroup") ?? ""
        var tightest: Double?
        func take(_ quota: Double?) {
            guard let quota else { return }
            tightest = min(tightest ?? quota, quota)
        }
        if let path = unifiedPath(groups) {
            for folder in ancestors(path) { take(unifiedQuota(read("/sys/fs/cgroup\(folder)/cpu.max") ?? "")) }
        }
        if let path = cpuControllerPath(groups) {
            for folder in ancestors(path) {
                let base = "/sys/fs/cgroup/cpu\(folder)/cpu.cfs_"
                take(bandwidthQuota(quota: read(base + "quota_us") ?? "", period: read(base + "period_us") ?? ""))
            }
        }
        return tightest
    }

    /// Our group in version 2: the path of the line "0::/path".
    package static func unifiedPath(_ groups: String) -> String? {
        groups.split(separator: "\n").first { $0.hasPrefix("0::/") }.map { String($0.dropFirst(3)) }
    }

    /// Our group of the CPU controller in version 1: the path of a line such as "4:cpu,cpuacct:/path".
    package static func cpuControllerPath(_ groups: String) -> String? {
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            if fields.count == 3, fields[1].split(separator: ",").contains("cpu") { return String(fields[2]) }
        }
        return nil
    }

    /// The CPUs that a `cpu.max` grants: "200000 100000" is 2, "max 100000" is no limit.
    package static func unifiedQuota(_ text: String) -> Double? {
        let fields = text.split(whereSeparator: \.isWhitespace)
        guard fields.count == 2 else { return nil }
        return bandwidthQuota(quota: String(fields[0]), period: String(fields[1]))
    }

    /// The CPUs that a quota of microseconds in each period grants; "-1" is no limit.
    package static func bandwidthQuota(quota: String, period: String) -> Double? {
        func number(_ text: String) -> Int? { text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } }
        guard let quota = number(quota), let period = number(period), quota > 0, period > 0 else { return nil }
        return Double(quota) / Double(period)
    }

    /// A group's path and those of all groups around it, each without a final slash: "/a/b", "/a", "".
    ///
    /// Inside a container the path may be the host's, which is not visible there; the last one, the root, always is.
    package static func ancestors(_ path: String) -> [String] {
        var parts = path.split(separator: "/")
        var folders: [String] = []
        while !parts.isEmpty {
            folders.append("/" + parts.joined(separator: "/"))
            parts.removeLast()
        }
        return folders + [""]
    }
}
