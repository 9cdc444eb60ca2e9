import Glibc
import Platform
import Testing

@Suite
struct DescriptorLimitTests {
    @Test
    func `the soft limit is raised as far as it may be`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            getrlimit(resource, &limit)
            let most = min(Int(clamping: limit.rlim_max), DescriptorLimit.wanted)
            limit.rlim_cur = 256
            setrlimit(resource, &limit)
            #expect(DescriptorLimit.raise() == most)
        }
    }

    @Test(arguments: [(1_048_576, 1_000, 1_024), (8_192, 1_000, 1_024), (1_024, 384, 384), (256, 64, 64), (1, 1, 1)])
    func `clients and LocalDNS leave descriptors to everything else`(limit: Int, connections: Int, queries: Int) {
        let budget = DescriptorBudget(limit: limit)
        #expect((budget.connections, budget.queries) == (connections, queries))
        #expect(budget.isReduced == (limit < 8_192))
    }

    @Test(arguments: [(1_048_576, 16_384), (24_576, 16_384), (8_192, 5_912), (1_024, 256), (1, 1)])
    func `encrypted connections have what clients without and LocalDNS leave, up to their own limit`(
        limit: Int, encrypted: Int
    ) {
        #expect(DescriptorBudget(limit: limit, isEncrypted: true).encrypted == encrypted)
        #expect(DescriptorBudget(limit: limit).encrypted == 0)
    }

    @Test func `the limit in force is the one that the kernel has`() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #expect(DescriptorLimit.current == Int(clamping: limit.rlim_cur))
    }
}
