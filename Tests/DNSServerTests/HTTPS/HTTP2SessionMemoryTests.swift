import CSystem.Linux
import Platform
import TestSupport
import Testing

@testable import DNSServer

/// What the memory of sessions takes, and that it stays apart.
struct HTTP2SessionMemoryTests {
    /// Bytes of a page, and of the pages of one session.
    private static let page = 4_096
    static let session = 2 * page

    /// A slot of its own memory, with the functions of allocation.
    private final class Slots {
        let slots = clinux_slots_new(128)
        deinit { clinux_slots_delete(slots) }
        func take() throws -> UnsafeMutableRawPointer { try #require(clinux_slots_take(slots)) }
    }

    // MARK: Sessions

    @Test func `a session takes two pages, whatever it has answered`() throws {
        let memory = HTTPSessionShare()
        let dialogue = try HTTP2Dialogue(in: memory)
        #expect(memory.slots.resident == Self.session)
        for (index, size) in [0, 60, 468, 1_024, 1_025, 4_096, 20_000, 65_535].enumerated() {
            dialogue.answer = { _ in
                HTTPServerResponse(.ok, contentType: "a/b", body: [UInt8](repeating: 7, count: size))
            }
            let stream = UInt32(2 * index + 1)
            dialogue.send(Frames.window(65_535) + Frames.headers(stream) + Frames.window(65_535, on: stream))
            #expect(dialogue.responses[stream]?.body == [UInt8](repeating: 7, count: size))
            #expect(dialogue.responses[stream]?.isComplete == true)
        }
        #expect(memory.slots.resident == Self.session)
    }

    @Test func `a long header goes through other memory, and comes back`() throws {
        let memory = HTTPSessionShare()
        let dialogue = try HTTP2Dialogue(in: memory)
        for index in 0..<100 {
            let value = String(repeating: "a", count: 7_000)
            dialogue.send(Frames.headers(UInt32(2 * index + 1), Frames.request() + [("x", value)]))
        }
        #expect(dialogue.responses.values.count { $0.isComplete } == 100)
        #expect(memory.slots.resident == Self.session)
    }

    @Test func `sessions that end give their pages back, in whatever order, and others have the room again`() throws {
        let memory = HTTPSessionShare()
        var dialogues: [Int: HTTP2Dialogue] = [:]
        for index in 0..<200 { dialogues[index] = try HTTP2Dialogue(in: memory) }
        #expect(memory.slots.resident == 200 * Self.session)
        for index in 0..<200 where index % 3 != 1 { dialogues[(index * 77) % 200] = nil }
        let left = dialogues.count
        #expect(memory.slots.resident == left * Self.session)
        for dialogue in dialogues.values { #expect(dialogue.serves(1)) }
        for index in 200..<(400 - left) { dialogues[index] = try HTTP2Dialogue(in: memory) }
        for (index, dialogue) in dialogues { #expect(dialogue.serves(index < 200 ? 3 : 1)) }
        #expect(memory.slots.resident == 200 * Self.session)
        dialogues = [:]
        #expect(memory.slots.resident == 0)
    }

    @Test func `a session outlives what made its memory`() throws {
        var memory: HTTPSessionShare? = HTTPSessionShare()
        let dialogue = try HTTP2Dialogue(in: #require(memory))
        memory = nil
        #expect(dialogue.serves(1))
    }

    // MARK: Allocation

    @Test func `a large block is in the slot, a small one is not, and each is its own`() throws {
        let slots = Slots()
        let slot = try slots.take()
        defer { clinux_slots_return(slots.slots, slot) }
        let inside = slot..<(slot + Int(CLINUX_SLOT_SIZE))
        let blocks = try [2_928, 1_024, 4_096, 2_047, 16_394].map { try #require(clinux_slot_malloc($0, slot)) }
        #expect(blocks.map(inside.contains) == [true, false, true, false, true])
        let ends = zip(blocks, [2_928, 1_024, 4_096, 2_047, 16_394]).map { $0 + $1 }
        #expect(ends[0] <= blocks[2] && ends[2] <= blocks[4] && ends[4] <= inside.upperBound)
        #expect(blocks.allSatisfy { Int(bitPattern: $0) % 16 == 0 })
        for block in blocks { clinux_slot_free(block, slot) }
    }

    @Test func `what no slot has room for, or a session without one, has memory of malloc`() throws {
        let slots = Slots()
        let slot = try slots.take()
        defer { clinux_slots_return(slots.slots, slot) }
        let inside = slot..<(slot + Int(CLINUX_SLOT_SIZE))
        for size in [24_576, 24_545, 100_000] {
            let block = try #require(clinux_slot_malloc(size, slot))
            #expect(!inside.contains(block))
            clinux_slot_free(block, slot)
        }
        let longest = try #require(clinux_slot_malloc(24_544, slot))
        #expect(inside.contains(longest))
        let next = try #require(clinux_slot_calloc(1, 2_048, slot))
        #expect(!inside.contains(next))
        clinux_slot_free(next, slot)
        #expect(clinux_slot_malloc(.max, slot) == nil)
        #expect(clinux_slot_calloc(.max, 2, slot) == nil)
        let block = try #require(clinux_slot_realloc(nil, 4_096, nil))
        let larger = try #require(clinux_slot_realloc(block, 8_192, nil))
        clinux_slot_free(larger, nil)
        clinux_slot_free(nil, nil)
        clinux_slot_free(nil, slot)
        #expect(clinux_slots_take(nil) == nil)
    }

    @Test func `a block that grows has its bytes still, from a slot and from malloc`() throws {
        let slots = Slots()
        let slot = try slots.take()
        defer { clinux_slots_return(slots.slots, slot) }
        for size in [100, 2_500] {
            let block = try #require(clinux_slot_malloc(size, slot))
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
            block.copyMemory(from: bytes, byteCount: size)
            let larger = try #require(clinux_slot_realloc(block, 2 * size + 4_000, slot))
            #expect(Array(UnsafeRawBufferPointer(start: larger, count: size)) == bytes)
            clinux_slot_free(larger, slot)
        }
    }

    @Test func `a slot that is taken again is zero`() throws {
        let slots = Slots()
        for _ in 0..<2 {
            let slot = try slots.take()
            let block = try #require(clinux_slot_calloc(10, 2_000, slot))
            #expect(UnsafeRawBufferPointer(start: block, count: 20_000).allSatisfy { $0 == 0 })
            block.copyMemory(from: [UInt8](repeating: 0xff, count: 20_000), byteCount: 20_000)
            clinux_slots_return(slots.slots, slot)
            #expect(clinux_slots_resident(slots.slots) == 0)
        }
    }
}
