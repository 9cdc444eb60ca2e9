import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// What the disk has after answers were flushed, and when it is read.
@Suite(.onLoop) struct AnswerArchiveTests {
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
                case .all, .holding: false
                case .name(let wanted): name != wanted
                case .suffix(let suffix): !name.isWithin(suffix)
                }
            }
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

    @Loop private func archive(of machine: Machine) -> RecoveringArchive {
        let archive = RecoveringArchive(machine.memory)
        machine.store.archive = archive
        return archive
    }

    /// The names of two answers in memory, after one was removed by `forget`.
    @Loop private func names(after forget: @escaping @Loop @Sendable (AnswerStore) async -> Int) async -> Set<String> {
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

    @Test @Loop func `what memory had of a flushed name is not on disk, though that came back just then`()
        async throws
    {
        let (name, suffix) = (try Name("www.example.com"), try Name("example.com"))
        #expect(await names { await $0.walks.remove(.name(name)) } == ["other.example.net"])
        #expect(await names { await $0.walks.remove(.suffix(suffix)) } == ["other.example.net"])
        #expect(await names { await $0.walks.remove(.all) } == [])
    }

    @Test @Loop func `what memory had of a bad address is not on disk, though that came back just then`() async throws {
        let address = try #require(IPAddress("192.0.2.1"))
        #expect(await names { await $0.walks.remove(.holding(address)) } == ["other.example.net"])
    }

    @Test @Loop func `an answer that is forged, not to be cached, or made of others now is not on disk either`() throws
    {
        let machine = Machine()
        let (store, disk) = (machine.store, FakeArchive())
        store.archive = disk
        let name = try Name("www.example.com")
        let key = machine.resolver.flights.key(name, .a)
        let answer = Answer(name: name, addresses: [.v4(0xcb00_7109)], ttl: 60)
        let removals: [@Loop () -> Void] = [
            { store.forgetUnverified(key, .a) },
            { _ = store.keep(Answer(name: name, addresses: [.v4(1)], ttl: 0), for: key, .a, .localDNS, "") },
            { _ = store.keep(answer, for: key, .a, .localDNS, "", isTranslated: true) },
        ]
        for remove in removals {
            _ = store.keep(answer, for: key, .a, .localDNS, "")
            #expect(disk.stored.count == disk.removed.count + 1)
            remove()
            #expect(disk.stored.count == disk.removed.count)
        }
    }

    @Test @Loop func `an answer that memory has lost is read from disk, once, and no source is asked`() async throws {
        let machine = Machine()
        _ = await machine.ask()
        let question = Question(name: try Name("www.example.com"), type: .a)
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false)
        let entry = try #require(machine.memory.entry(for: key))
        let archive = FakeArchive(entry, in: machine.memory)
        machine.store.archive = archive
        machine.memory.remove(key)
        machine.failEverything()
        for kind in [AnswerKind.disk, .cache] {
            let reply = await machine.ask()
            #expect(reply.has("192.0.2.1") && !reply.isStale && reply.response?.kind == kind)
        }
        #expect(archive.reads == 1 && machine.vendor.asked.count == 1 && machine.localDNS.asked.isEmpty)
    }

    @Test @Loop func `an answer for one client network is not looked for on the disk`() async throws {
        let machine = Machine(scoping: ClientScoping(bits: 24))
        let question = Question(name: try Name("www.example.com"), type: .a)
        let answer = try #require(
            PackedAnswer(Answer(name: question.name, addresses: [.v4(0xc000_0242)], ttl: 60), for: question))
        let archive = FakeArchive(
            CacheEntry(answer: answer, storedAt: machine.clock.now, lifetime: 60, generation: 0), in: machine.memory)
        machine.store.archive = archive
        #expect(await machine.ask(from: .v4(0xc633_6407)).has("192.0.2.1"))
        #expect(archive.reads == 0)
    }
}
