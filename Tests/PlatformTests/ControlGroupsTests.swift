import Platform
import Testing

@Suite struct CPUBudgetTests {
    @Test(
        arguments: [
            (1, nil, 1), (2, nil, 2), (64, nil, 4), (0, nil, 1), (-22, nil, 1), (8, 2.0, 2), (8, 1.5, 2), (8, 0.1, 1),
            (2, 3.0, 2),
            (8, 1e300, 4),
        ] as [(Int, Double?, Int)])
    func `threads are bounded by four, by affinity and by the ceiling of the quota`(
        affinity: Int, quota: Double?, expected: Int
    ) {
        #expect(CPUBudget.threads(affinity: affinity, quota: quota) == expected)
    }

    @Test(
        arguments: [
            ("200000 100000\n", 2.0), ("50000 100000", 0.5), ("max 100000\n", nil), ("", nil), ("200000", nil),
            ("x y", nil),
            ("100 0", nil),
        ] as [(String, Double?)])
    func `cpu.max is a quota and its period`(text: String, expected: Double?) {
        #expect(CPUBudget.unifiedQuota(text) == expected)
    }

    @Test(
        arguments: [("150000\n", "100000\n", 1.5), ("-1\n", "100000\n", nil), ("", "", nil)]
            as [(String, String, Double?)])
    func `the version 1 quota of -1 is no limit`(quota: String, period: String, expected: Double?) {
        #expect(CPUBudget.bandwidthQuota(quota: quota, period: period) == expected)
    }

    @Test func `the tightest group of those around us counts`() {
        let files = [
            "/proc/self/cgroup": "0::/system.slice/httpdnsd.service\n",
            "/sys/fs/cgroup/system.slice/httpdnsd.service/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/system.slice/cpu.max": "150000 100000\n",
        ]
        #expect(CPUBudget.quota { files[$0] } == 1.5)
    }

    @Test func `inside a container the root of the tree counts although the path is the host's`() {
        let files = [
            "/proc/self/cgroup": "0::/../../docker/0123\n", "/sys/fs/cgroup/cpu.max": "200000 100000\n",
        ]
        #expect(CPUBudget.quota { files[$0] } == 2)
    }

    @Test func `version 1 is read from the CPU controller's own tree`() {
        let files = [
            "/proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/docker/0123\n1:cpuset:/b\n",
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        ]
        #expect(CPUBudget.quota { files[$0] } == 3)
    }

    @Test func `without control groups there is no limit`() {
        #expect(CPUBudget.quota { _ in nil } == nil)
    }

    @Test func `this machine gives one to four threads`() {
        #expect((1...4).contains(CPUBudget.threads()))
    }
}
