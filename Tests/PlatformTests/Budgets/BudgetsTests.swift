import Glibc
import Testing

@testable import Platform

struct MemoryBudgetTests {
    private static let sizes = [32, 48, 64, 100, 128, 256, 512, 1_024, 4_096].map { $0 << 20 }

    /// Bytes of everything that a load may make the server hold.
    private func load(_ budget: MemoryBudget) -> Int {
        budget.flights * MemoryBudget.flight + budget.queries * MemoryBudget.query + budget.buffered
    }

    @Test(arguments: [64, 128, 256, 512, 1_024, 4_096], [1, 16, 64, 8_192])
    func `all bounds together leave the kernel a sixteenth of the limit`(limit: Int, cache: Int) {
        let budget = MemoryBudget(limit: limit << 20, cache: cache << 20)
        let most = (limit << 20) * 15 / 16
        #expect(MemoryBudget.base + budget.cache(cache << 20) + load(budget) <= most)
        // Also after a reload with another cache size.
        #expect(MemoryBudget.base + budget.cache(.max) + load(budget) <= most)
    }

    @Test(arguments: sizes, sizes)
    func `more memory is never less of anything`(limit: Int, cache: Int) {
        let (less, more) = (MemoryBudget(limit: limit, cache: cache), MemoryBudget(limit: limit * 2, cache: cache))
        #expect(less.cache(cache) <= more.cache(cache))
        #expect(less.flights <= more.flights && less.queries <= more.queries && less.buffered <= more.buffered)
        #expect(less.flights > 0 && less.queries > 0 && less.buffered > 0)
    }

    @Test(arguments: sizes, [Transport.tls, .https])
    func `encrypted connections fit into the limit too, fewer over HTTPS`(limit: Int, transport: Transport) {
        let budget = MemoryBudget(limit: limit, cache: limit / 2, encrypted: transport)
        let connections = budget.encrypted * MemoryBudget.connection(over: transport)
        if limit >= 64 << 20 {
            #expect(
                MemoryBudget.base + budget.cache(limit / 2) + load(budget) + connections <= limit - limit / 16)
        }
        #expect(budget.encrypted > 0)
        #expect(budget.encrypted <= MemoryBudget(limit: limit, cache: limit / 2, encrypted: .tls).encrypted)
    }

    @Test func `the cache of the default size fits into 128 MiB, and a larger one is cut to half`() {
        #expect(MemoryBudget(limit: 128 << 20, cache: 64 << 20).cache(64 << 20) == 64 << 20)
        #expect(MemoryBudget(limit: 128 << 20, cache: 256 << 20).cache(256 << 20) >> 20 == 64)
    }

    @Test func `however low the limit is, clients have 4 MiB`() {
        let budget = MemoryBudget(limit: 16 << 20, cache: 64 << 20)
        #expect(((4 << 20) * 15 / 16...4 << 20).contains(load(budget)))
    }

    @Test func `without a limit every part has its most, and the cache what it is configured to`() {
        let budget = MemoryBudget(limit: nil, cache: 8 << 30)
        #expect(budget.cache(8 << 30) == 8 << 30)
        #expect(budget.flights == MemoryBudget.flights && budget.queries == MemoryBudget.queries)
        #expect(budget.buffered == MemoryBudget.buffered)
    }
}

struct DescriptorLimitTests {
    @Test func `the soft limit is raised as far as it may be`() async {
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
