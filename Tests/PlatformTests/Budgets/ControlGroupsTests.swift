import Platform
import Testing

@Suite struct ControlGroupsTests {
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
