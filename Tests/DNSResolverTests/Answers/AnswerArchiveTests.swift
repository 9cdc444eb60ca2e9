import DNSCache
import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import DNSResolver

/// What the disk has after answers were flushed.
@Suite(.onLoop)
struct AnswerArchiveTests {
    private typealias Machine = ResolverTests.Machine

    /// A disk that recovers from a fault just when it is to remove something, and writes all that memory still has.
    @Loop
    private final class RecoveringArchive: AnswerArchive {
        private(set) var names: Set<Name> = []
        let mayRecall = false
        private let memory: MemoryCache

        init(_ memory: MemoryCache) { self.memory = memory }

        func store(_ entry: CacheEntry, for key: borrowing QueryKey) {}

        func remove(_ key: borrowing QueryKey) {}

        func remove(_ removal: AnswerRemoval) {
            names = names.filter { name in
                switch removal {
                case .all: false
                case .name(let wanted): name != wanted
                case .suffix(let suffix): !name.isWithin(suffix)
                }
            }
            writeAll()
        }

        func remove(holding address: IPAddress) {
            names = []
            writeAll()
        }

        func recall(_ key: QueryKey, clock: any LoopClock) async {}

        private func writeAll() {
            var cursor: CacheCursor? = .start
            while let place = cursor {
                let step = memory.walk(from: place, slots: 1_024) { _ in true }
                for answer in step.answers { names.insert(answer.name) }
                cursor = step.next
            }
        }
    }

    @Loop
    private func archive(of machine: Machine) -> RecoveringArchive {
        let archive = RecoveringArchive(machine.memory)
        machine.store.archive = archive
        return archive
    }

    /// The names of two answers in memory, after one was removed by `forget`.
    @Loop
    private func names(after forget: @escaping @Loop @Sendable (AnswerStore) async -> Int) async -> Set<String> {
        let machine = Machine()
        _ = await machine.ask("www.example.com")
        machine.vendor.behaviour = .addresses("192.0.2.2")
        _ = await machine.ask("other.example.net")
        let archive = archive(of: machine)
        let forgetting = Task { @Loop in await forget(machine.store) }
        await machine.clock.advance(by: .milliseconds(1))
        _ = await forgetting.value
        return Set(archive.names.map(\.description))
    }

    @Test @Loop func `what memory had of a flushed name is not on disk, though the disk came back at that moment`()
        async throws
    {
        let (name, suffix) = (try Name("www.example.com"), try Name("example.com"))
        #expect(await names { await $0.remove(.name(name)) } == ["other.example.net"])
        #expect(await names { await $0.remove(.suffix(suffix)) } == ["other.example.net"])
        #expect(await names { await $0.remove(.all) } == [])
    }

    @Test @Loop func `what memory had of a bad address is not on disk, though the disk came back at that moment`()
        async throws
    {
        let address = try #require(IPAddress("192.0.2.1"))
        #expect(await names { await $0.remove(holding: address) } == ["other.example.net"])
    }
}
