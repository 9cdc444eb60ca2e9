import CSystem.Linux
import DNSWire

/// The control groups of this process, read from the kernel's files.
public struct ControlGroups {
    private let groups: String
    private let read: (String) -> String?

    /// - Parameter read: returns a file's text; `nil` if there is none.
    public init(readingWith read: @escaping (String) -> String?) {
        self.read = read
        groups = read("/proc/self/cgroup") ?? ""
    }

    /// Reads the files of this process.
    public init() { self.init(readingWith: kernelFile) }

    /// The CPU quota in CPUs, in version 2 or 1; the least of all groups; `nil` without a limit.
    public var cpus: Double? {
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
    public var memory: Int? {
        var files: [String] = []
        if let path = unifiedPath { files += Self.ancestors(path).map { "/sys/fs/cgroup\($0)/memory.max" } }
        if let path = path(of: "memory") {
            files += Self.ancestors(path).map { "/sys/fs/cgroup/memory\($0)/memory.limit_in_bytes" }
        }
        return files.compactMap { Self.bytes(read($0) ?? "") }.min()
    }

    /// The path of our group in version 2, from the line "0::/path".
    public var unifiedPath: String? {
        groups.split(separator: "\n").first { $0.hasPrefix("0::/") }.map { String($0.dropFirst(3)) }
    }

    /// The path of our group for a controller in version 1, from a line such as "4:cpu,cpuacct:/path".
    public func path(of controller: String) -> String? {
        for line in groups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            if fields.count == 3, fields[1].split(separator: ",").contains(where: { $0 == controller }) {
                return String(fields[2])
            }
        }
        return nil
    }

    /// Parses a memory limit: "134217728"; nil for "max", and for the value that version 1 reports without a limit.
    public static func bytes(_ text: String) -> Int? {
        firstNumber(text)?.within(1...(1 << 60) - 1)
    }

    /// Parses a `cpu.max` into CPUs: "200000 100000" is 2; nil, no limit, for "max 100000".
    public static func unifiedQuota(_ text: String) -> Double? {
        let fields = text.split(whereSeparator: \.isWhitespace)
        guard fields.count == 2 else { return nil }
        return bandwidthQuota(quota: String(fields[0]), period: String(fields[1]))
    }

    /// The CPUs of a quota in microseconds for each period; nil, no limit, for "-1".
    public static func bandwidthQuota(quota: String, period: String) -> Double? {
        guard let quota = firstNumber(quota)?.within(1...Int.max), let period = firstNumber(period)?.within(1...Int.max)
        else { return nil }
        return Double(quota) / Double(period)
    }

    /// The paths of a group and of all its ancestors, each without a final slash: "/a/b", "/a", "".
    ///
    /// Inside a container the path may be the host's, which is not visible there; the last one, the root, always is.
    public static func ancestors(_ path: String) -> [String] {
        var parts = path.split(separator: "/")
        var folders: [String] = []
        while !parts.isEmpty {
            folders.append("/" + parts.joined(separator: "/"))
            parts.removeLast()
        }
        return folders + [""]
    }
}

/// The threads for `udp_threads = 0`.
extension ControlGroups {
    /// More UDP threads than this have shown no benefit by themselves.
    private static let mostThreads = 4

    /// The number of UDP threads to start, 1 to 4: the CPUs in our affinity mask, at most the quota of the control
    /// group.
    public static func threads() -> Int {
        threads(affinity: Int(clinux_affinity_count()), quota: ControlGroups().cpus)
    }

    /// The computation alone. `affinity` under 1 means unknown; `quota` is in CPUs, `nil` for no limit.
    public static func threads(affinity: Int, quota: Double?) -> Int {
        var threads = min(mostThreads, max(1, affinity))
        if let quota { threads = min(threads, max(1, Int(min(quota, Double(mostThreads)).rounded(.up)))) }
        return threads
    }
}

/// The limits on what this process maps, set by `ulimit -v` and `-d` or a unit's `LimitAS=` and `LimitDATA=`
/// (`RLIMIT_AS`, `RLIMIT_DATA`), read from the kernel's files.
///
/// At such a limit an allocation fails, which ends the process: so they count as a limit of memory does, less what is mapped
/// without being used.
public struct MappingLimits {
    /// Threads besides those that receive: log, disk and its check, a policy, a reload, and a certificate.
    private static let otherThreads = 6
    /// What glibc maps for the stack of a thread when the limit of stacks is "unlimited", in bytes.
    private static let usualStack = 8 << 20

    private let limits: String
    private let status: String

    /// - Parameter read: returns a file's text; `nil` if there is none.
    public init(readingWith read: (String) -> String?) {
        limits = read("/proc/self/limits") ?? ""
        status = read("/proc/self/status") ?? ""
    }

    /// Reads the files of this process.
    public init() { self.init(readingWith: kernelFile) }

    /// The bytes of memory that the limits leave to the whole process, in the terms of `MemoryBudget`, before it has started its
    /// threads; at least what the program itself has. `nil`: there is no limit, or /proc is not mounted.
    ///
    /// - Parameter receivers: how many threads will receive.
    public func memory(receivers: Int) -> Int? {
        let stacks = (receivers + Self.otherThreads) * (limit("Max stack size") ?? Self.usualStack)
        let free = [("Max address space", "VmSize:"), ("Max data size", "VmData:")].compactMap { name, field in
            limit(name).map { $0 - (mapped(field) ?? 0) - stacks }
        }
        return free.min().map { MemoryBudget.base + max(0, $0) }
    }

    /// Has all threads take memory from one pool where there is a limit: each thread's own would reserve 64 MiB, used or not.
    /// For the start, before the first thread.
    public func shareMemory() {
        if memory(receivers: 0) != nil { clinux_share_memory() }
    }

    /// The soft limit in bytes, from a line such as "Max address space   314572800   unlimited   bytes"; nil when there is none.
    private func limit(_ name: String) -> Int? { number(in: limits, after: name)?.within(1...1 << 60) }

    /// Bytes from a line such as "VmSize:   492384 kB".
    private func mapped(_ field: String) -> Int? {
        number(in: status, after: field)?.within(0...1 << 50).map { $0 << 10 }
    }

    private func number(in text: String, after name: String) -> OutsideNumber? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return firstNumber(line.dropFirst(name.count))
    }
}

/// The text of a file of the kernel's; nil where there is none.
private func kernelFile(_ path: String) -> String? {
    (try? readFile(path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) }
}

/// The number that is the first word of a text.
private func firstNumber(_ text: some StringProtocol) -> OutsideNumber? {
    text.split(whereSeparator: \.isWhitespace).first.flatMap { OutsideNumber(digits: $0) }
}

/// Returns memory freed by any thread to the system; glibc by itself retains most of it.
///
/// For use after a rare large operation: it walks all free memory, and blocks its thread meanwhile.
public func returnFreeMemory() { clinux_return_free_memory() }

/// Unmaps the pages of code and constants that were used so far. Pages still needed are mapped again as they are used.
///
/// For the end of the start-up, most of whose code is never needed again. The kernel retains the files in its page
/// cache; but it can drop unmapped pages at once when memory is short, and they do not count as memory of this process.
public func releaseFilePages() { clinux_release_file_pages() }
