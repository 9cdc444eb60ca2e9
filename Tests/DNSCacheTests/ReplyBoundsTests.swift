import DNSWire
import Testing

@testable import DNSCache

/// Responses are written between canaries: nothing outside is written, and no byte from outside the query is copied
/// into them.
struct ReplyBoundsTests {
    /// Bytes on either side of the query and of the space for the response.
    private static let margin = 64

    /// What a client may send, from the shortest message that is answered to the longest question.
    static let messages: [[UInt8]] = {
        let header: [UInt8] = [0x12, 0x34, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        func changed(_ offset: Int, _ byte: UInt8, in bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            bytes[offset] = byte
            return bytes
        }
        let question = TestQuery("example.com").bytes
        let withEDNS = TestQuery("example.com", edns: EDNS()).bytes
        let root = TestQuery(".").bytes
        return [
            // No question: FORMERR, and NOTIMP for another opcode; two questions; a truncated question.
            header, changed(2, 0x29, in: header), changed(5, 2, in: question), changed(5, 1, in: header),
            changed(5, 1, in: header) + [3, 97], header + [0, 0, 1],
            // No question but an OPT record.
            changed(11, 1, in: header) + [0, 0, 41, 2, 0, 0, 0, 0, 0, 0, 0],
            question, changed(2, 0x29, in: question), root, withEDNS,
            TestQuery("example.com", edns: EDNS(version: 1)).bytes,
            TestQuery(longestName).bytes, TestQuery(longestName, edns: EDNS()).bytes,
        ]
    }()

    /// The response to a message with `canary` on both sides of it and of space for `capacity` bytes; nil if anything
    /// but the response was written.
    private func reply(
        to message: [UInt8], canary: UInt8, capacity: Int,
        _ compose: (Query, Span<UInt8>, inout OutputSpan<UInt8>) -> Void
    ) -> [UInt8]? {
        let frame = [UInt8](repeating: canary, count: Self.margin)
        let framed = frame + message + frame
        let query = TestQuery(bytes: message).query
        // Another canary around the response, so that a byte copied from one margin to the other is detected.
        let outer = [UInt8](repeating: ~canary, count: Self.margin)
        var room = outer + [UInt8](repeating: 0, count: capacity) + outer
        let count = room.withUnsafeMutableBufferPointer { buffer in
            var output = OutputSpan(
                buffer: UnsafeMutableBufferPointer(
                    rebasing: buffer[Self.margin..<(Self.margin + capacity)]), initializedCount: 0)
            compose(query, framed.span.extracting(Self.margin..<(Self.margin + message.count)), &output)
            return output.count
        }
        guard room.prefix(Self.margin).elementsEqual(outer), room.suffix(Self.margin).elementsEqual(outer) else {
            return nil
        }
        return Array(room[Self.margin..<(Self.margin + count)])
    }

    /// Writes with two canaries, with any capacity near the response's length, and checks that nothing else changes.
    private func expectBounds(
        of message: [UInt8], _ compose: (Query, Span<UInt8>, inout OutputSpan<UInt8>) -> Void
    ) throws {
        let written = reply(to: message, canary: 0xaa, capacity: 1_232, compose)
        let whole = try #require(written, "canaries were written")
        #expect(whole.starts(with: message.prefix(2)))
        for capacity in [whole.count, whole.count + 1, whole.count + 3, whole.count - 1, 12, 0] {
            let first = reply(to: message, canary: 0xaa, capacity: capacity, compose)
            #expect(first != nil, "canaries were written with room for \(capacity) bytes")
            let second = reply(to: message, canary: 0x33, capacity: capacity, compose)
            #expect(second == first)
            if capacity >= whole.count { #expect(first == whole) }
        }
    }

    @Test(arguments: messages.indices)
    func `a refusal is written between its canaries`(index: Int) throws {
        let message = Self.messages[index]
        for error in [nil, ExtendedError(.prohibited), ExtendedError(.other, "a text of some length")] {
            try expectBounds(of: message) { query, span, output in
                let code = query.fault == .noError ? ResponseCode.refused : query.fault
                Reply.write(code, to: query, message: span, options: .init(error: error), limit: 1_232, into: &output)
            }
        }
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 20])
    func `an answer of any length is written between its canaries`(records: Int) throws {
        for message in Self.messages {
            let question = TestQuery(bytes: message)
            guard question.query.fault == .noError else { continue }
            let answer = Answer(
                name: question.question.name, addresses: (0..<UInt32(records)).map { .v4($0) }, ttl: 300)
            var packed = try #require(PackedAnswer(answer, for: question.question))
            for rotates in [false, true] {
                packed.rotates = rotates
                try expectBounds(of: message) { query, span, output in
                    Reply.write(packed, to: query, message: span, aging: .fresh(age: 1), limit: 1_232, into: &output)
                }
            }
        }
    }

    @Test func `a hit is written between its canaries`() throws {
        let cache = MemoryCache(memory: 1 << 20)
        for message in Self.messages {
            let question = TestQuery(bytes: message)
            guard question.query.fault == .noError else { continue }
            cache.put(Answer(name: question.question.name, addresses: [.v4(1), .v4(2)], ttl: 300), for: question)
            try expectBounds(of: message) { query, span, output in
                let ticket = cache.ticket(for: query, in: span)
                _ = cache.answer(
                    query, ticket, message: span, now: at(1_000), generation: 1, limit: 1_232, into: &output)
            }
        }
    }

    @Test func `a query that was read from a longer message gets nothing`() throws {
        let query = TestQuery("a.name.of.some.length.example")
        for count in [12, 16, 17, query.bytes.count - 1] {
            let part = Array(query.bytes.prefix(count))
            let bytes = output { span in
                let isWritten = Reply.write(.refused, to: query.query, message: part.span, limit: 1_232, into: &span)
                #expect(!isWritten)
            }
            #expect(bytes.isEmpty)
        }
    }

    @Test func `an answer with another number of TTLs than of records is not stored`() {
        let cache = MemoryCache(memory: 1 << 20)
        let query = TestQuery("example.com")
        let record: [UInt8] = [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 0x2c, 0, 4, 192, 0, 2, 1]
        for (count, offsets) in [(1, []), (1, [6, 6]), (60_000, [6])] as [(UInt16, [UInt16])] {
            let answer = PackedAnswer(
                responseCode: .noError, counts: .init(answer: count), body: record, ttlOffsets: offsets)
            let entry = CacheEntry(answer: answer, storedAt: at(1_000), lifetime: 300, generation: 1)
            #expect(!cache.store(entry, for: query.key))
            #expect(cache.reply(to: query) == nil)
        }
    }

    @Test func `an answer whose TTL lies outside of it is not sent`() throws {
        let query = TestQuery("example.com")
        let answer = PackedAnswer(
            responseCode: .noError, counts: .init(answer: 1), body: [UInt8](repeating: 1, count: 20), ttlOffsets: [17])
        let bytes = output { span in
            Reply.write(
                answer, to: query.query, message: query.bytes.span, aging: .fresh(age: 0), limit: 1_232, into: &span)
        }
        let reply = try MessageParser.parse(bytes)
        #expect(reply.answers.isEmpty && reply.flags.contains(.truncated))
    }
}
