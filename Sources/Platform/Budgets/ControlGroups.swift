import CSystem.Linux
import DNSWire

/// The control groups of this process, read from the kernel's files.
package struct ControlGroups {
    private let groups: String
    private let read: (String) -> String?

    /// - Parameter read: returns a file's text; `nil` if there is none.
    package init(readingWith read: @escaping (String) -> String?) {
        self.read = read
        groups = read("/proc/self/cgroup") ?? ""
    }

    /// Reads the files of this process.
    package init() {
        self.init { path in (try? readFile(path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The CPU quota in CPUs, in version 2 or 1; the least of all groups; `nil` without a limit.
    package var cpus: Double? {
        var quotas: [Double?] = []
        if let path = unifiedPath {
            quotas += Self.ancestors(path).map { Self.unifiedQuota(read("/sys/fs/cgroup\($0)/cpu.max") ?? "") }
        }
        if let path = path(of: "cpu") {
            quotas += Self.ancestors(path).map { folder in
                let base = "/sys/fs/cgroup/cpu\(folder)/cpu.cfs_"
                return Self.bandwidthQuota(
                    quota: read(base + "quota_us") ?? "", period: read(base + "period_us") ?? "")
            }
        }
        return quotas.compactMap(\.self).min()
    }

    /// The memory limit in bytes, in version 2 or 1; the least of all groups; `nil` without a limit.
    package var memory: Int? {
        var files: [String] = []
        if let path = unifiedPath { files += Self.ancestors(path).map { "/sys/fs/cgroup\($0)/memory.max" } }
        if let path = path(of: "memory") {
            files += Self.ancestors(path).map { "/sys/fs/cgroup/memory\($0)/memory.limit_in_bytes" }
        }
        return files.compactMap { Self.bytes(read($0) ?? "") }.min()
    }

    /// The path of our group in version 2, from the line "0::/path".
    package var unifiedPath: String? {
        groups.split(separator: "\n").first { $0.hasPrefix("0::/") }.map { String($0.dropFirst(3)) }
    }

    /// The path of our group for a controller in version 1, from a line such as "4:cpu,cpuacct:/path".
    package func path(of controller: String) -> String? {
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            if fields.count == 3, fields[1].split(separator: ",").contains(where: { $0 == controller }) {
                return String(fields[2])
            }
        }
        return nil
    }

    /// Parses a memory limit: "134217728"; nil for "max", and for the value that version 1 reports without a limit.
    package static func bytes(_ text: String) -> Int? {
        number(text)?.within(1...(1 << 60) - 1)
    }

    /// Parses a `cpu.max` into CPUs: "200000 100000" is 2; nil, no limit, for "max 100000".
    package static func unifiedQuota(_ text: String) -> Double? {
        let fields = text.split(whereSeparator: \.isWhitespace)
        guard fields.count == 2 else { return nil }
        return bandwidthQuota(quota: String(fields[0]), period: String(fields[1]))
    }

    /// The CPUs of a quota in microseconds for each period; nil, no limit, for "-1".
    package static func bandwidthQuota(quota: String, period: String) -> Double? {
        guard let quota = number(quota)?.within(1...Int.max), let period = number(period)?.within(1...Int.max) else {
            return nil
        }
        return Double(quota) / Double(period)
    }

    private static func number(_ text: String) -> OutsideNumber? {
        text.split(whereSeparator: \.isWhitespace).first.flatMap { OutsideNumber(digits: $0) }
    }

    /// The paths of a group and of all its ancestors, each without a final slash: "/a/b", "/a", "".
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
