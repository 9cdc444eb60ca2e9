import Glibc
import Testing

@testable import Platform

struct ControlGroupsTests {
    @Test(
        arguments: [
            ("200000 100000\n", 2.0), ("50000 100000", 0.5), ("max 100000\n", nil), ("", nil), ("200000", nil),
            ("x y", nil),
            ("100 0", nil), ("9223372036854775807 9223372036854775807", 1), ("+100 100", nil), ("100 -1", nil),
        ] as [(String, Double?)])
    func `cpu.max is a quota and its period`(text: String, expected: Double?) {
        #expect(ControlGroups.unifiedQuota(text) == expected)
    }

    @Test(
        arguments: [("150000\n", "100000\n", 1.5), ("-1\n", "100000\n", nil), ("", "", nil)]
            as [(String, String, Double?)])
    func `the version 1 quota of -1 is no limit`(quota: String, period: String, expected: Double?) {
        #expect(ControlGroups.bandwidthQuota(quota: quota, period: period) == expected)
    }

    @Test func `the tightest group of those around us counts`() {
        let files = [
            "/proc/self/cgroup": "0::/system.slice/httpdnsd.service\n",
            "/sys/fs/cgroup/system.slice/httpdnsd.service/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/system.slice/cpu.max": "150000 100000\n",
        ]
        #expect(ControlGroups { files[$0] }.cpus == 1.5)
    }

    @Test func `inside a container the root of the tree counts although the path is the host's`() {
        let files = [
            "/proc/self/cgroup": "0::/../../docker/0123\n", "/sys/fs/cgroup/cpu.max": "200000 100000\n",
        ]
        #expect(ControlGroups { files[$0] }.cpus == 2)
    }

    @Test func `version 1 is read from the CPU controller's own tree`() {
        let files = [
            "/proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/docker/0123\n1:cpuset:/b\n",
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        ]
        #expect(ControlGroups { files[$0] }.cpus == 3)
    }

    @Test func `without control groups there is no limit`() {
        #expect(ControlGroups { _ in nil }.cpus == nil)
        #expect(ControlGroups { _ in nil }.memory == nil)
    }

    @Test(
        arguments: [
            ("134217728\n", 134_217_728), ("max\n", nil), ("9223372036854771712\n", nil), ("-1", nil), ("", nil),
            ("1152921504606846975", (1 << 60) - 1), ("1152921504606846976", nil), ("0", nil), ("+1", nil),
        ] as [(String, Int?)])
    func `memory.max is a number of bytes, and version 1 says a huge one for no limit`(text: String, expected: Int?) {
        #expect(ControlGroups.bytes(text) == expected)
    }

    @Test func `the tightest limit of memory counts, of both versions`() {
        let unified = [
            "/proc/self/cgroup": "0::/kubepods/pod1/httpdnsd\n",
            "/sys/fs/cgroup/kubepods/pod1/httpdnsd/memory.max": "134217728\n",
            "/sys/fs/cgroup/kubepods/pod1/memory.max": "268435456\n",
            "/sys/fs/cgroup/kubepods/memory.max": "max\n",
        ]
        #expect(ControlGroups { unified[$0] }.memory == 128 << 20)
        let old = [
            "/proc/self/cgroup": "5:memory:/docker/0123\n4:cpu,cpuacct:/docker/0123\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "67108864\n",
        ]
        #expect(ControlGroups { old[$0] }.memory == 64 << 20)
    }
}

struct CPUBudgetTests {
    @Test(
        arguments: [
            (1, nil, 1), (2, nil, 2), (64, nil, 4), (0, nil, 1), (-22, nil, 1), (8, 2.0, 2), (8, 1.5, 2), (8, 0.1, 1),
            (2, 3.0, 2),
            (8, 1e300, 4),
        ] as [(Int, Double?, Int)])
    func `threads are bounded by four, by affinity and by the ceiling of the quota`(
        affinity: Int, quota: Double?, expected: Int
    ) {
        #expect(ControlGroups.threads(affinity: affinity, quota: quota) == expected)
    }
}

struct MappingLimitsTests {
    private static func limits(
        space: String = "unlimited", data: String = "unlimited", stack: String = "8388608"
    ) -> MappingLimits {
        let files = [
            "/proc/self/limits": """
            Limit                     Soft Limit           Hard Limit           Units
            Max data size             \(data)            unlimited            bytes
            Max stack size            \(stack)              unlimited            bytes
            Max address space         \(space)            unlimited            bytes

            """,
            "/proc/self/status": "Name:\thttpdnsd\nVmPeak:\t  999999 kB\nVmSize:\t  102400 kB\nVmData:\t   20480 kB\n",
        ]
        return MappingLimits { files[$0] }
    }

    @Test func `without a limit of mappings, and without proc, memory is not limited`() {
        #expect(Self.limits().memory(receivers: 4) == nil)
        #expect(MappingLimits { _ in nil }.memory(receivers: 4) == nil)
    }

    @Test func `of the address space, what is mapped already and the stacks of all threads are not memory`() {
        // 512 MiB less 100 that are mapped and ten stacks of 8; the program's own are among the 100.
        let memory = Self.limits(space: "\(512 << 20)").memory(receivers: 4)
        #expect(memory == ((512 - 100 - 80) << 20) + MemoryBudget.base)
    }

    @Test func `a limit of data counts the data alone, and the tighter of both limits counts`() {
        #expect(Self.limits(data: "\(256 << 20)").memory(receivers: 4) == ((256 - 20 - 80) << 20) + MemoryBudget.base)
        let both = Self.limits(space: "\(300 << 20)", data: "\(256 << 20)").memory(receivers: 4)
        #expect(both == ((300 - 100 - 80) << 20) + MemoryBudget.base)
    }

    @Test(arguments: ["1", "1048576", "104857600", "209715200"])
    func `a limit that leaves nothing leaves what the program needs`(space: String) {
        #expect((Self.limits(space: space).memory(receivers: 4) ?? 0) >= MemoryBudget.base)
        #expect((Self.limits(space: space).memory(receivers: 4) ?? .max) <= 44 << 20)
    }

    @Test func `stacks without a limit count as those of the usual one`() {
        let memory = Self.limits(space: "\(512 << 20)", stack: "unlimited").memory(receivers: 4)
        #expect(memory == Self.limits(space: "\(512 << 20)").memory(receivers: 4))
    }

    @Test func `numbers that no kernel writes are no limit`() {
        for text in ["", "-1", "x", "99999999999999999999"] {
            #expect(Self.limits(space: text).memory(receivers: 4) == nil)
        }
    }
}

struct FreeMemoryTests {
    /// Bytes of mapped files that are resident in this process.
    private func mappedFileBytes() throws -> Int {
        let file = try #require(fopen("/proc/self/statm", "r"))
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        try #require(fgets(&text, Int32(text.count), file) != nil)
        let fields = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self).split(separator: " ")
        return try #require(Int(fields[2])) * Int(getpagesize())
    }

    @Test func `code that was used is released and still runs`() throws {
        let before = try mappedFileBytes()
        releaseFilePages()
        let after = try mappedFileBytes()
        #expect(after < before)
        #expect(after > 0)
    }
}
