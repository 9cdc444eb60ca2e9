import DNSCache
import DNSWire
import TestSupport
import Testing

@testable import DNSResolver

/// The cache with another size, as after a reload.
@Suite(.onLoop) struct RebuildTests {
    @Test @Loop func `a rebuilt cache may take the new size, and still has what it had`() async {
        let machine = Machine()
        _ = await machine.ask()
        let before = machine.memory.statistics
        var isDone = false
        Loop.spawn {
            await machine.store.walks.rebuild(memory: 4 << 20, freshness: FreshnessPolicy())
            isDone = true
        }
        for _ in 0...machine.memory.partCount where !isDone { await machine.clock.advance(by: .zero) }
        #expect(isDone)
        #expect(machine.memory.statistics.limit > before.limit)
        #expect(machine.memory.statistics.entries == before.entries)
    }
}
