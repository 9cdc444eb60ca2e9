// Datagrams of any bytes and lengths are received in a batch, as by a UDP thread, but from a pair of Unix sockets. They
// are answered in the batch's slots, whose response buffers are adjacent, in any order. Each response that is sent must
// be equal to the one that its datagram gets when it is alone.

import CSystem.Linux
import DNSWire
import Glibc

@testable import DNSCache

/// Few enough for the queue of a Unix socket.
private let slotCount = 8
/// Bytes of the longest datagram that is received whole.
private let longestQuery = 320

func fuzzDatagramSlots(_ input: [UInt8]) {
    var script = Script(input)
    let order = script.number()
    var datagrams: [[UInt8]] = []
    // None of 0 bytes, which would read as the end of the socket.
    while datagrams.count < slotCount, let length = script.next() {
        datagrams.append(script.bytes(Int(length) + (length & 1 == 0 ? 0 : 128)))
    }
    datagrams.removeAll { $0.isEmpty }
    if !datagrams.isEmpty { Exchange.shared.play(datagrams, order) }
}

/// A batch, and both sockets that it uses.
private final class Exchange {
    nonisolated(unsafe) static let shared = Exchange()

    private let server: Int32
    private let client: Int32
    private let batch: OpaquePointer
    private let cache = MemoryCache(memory: 1 << 20)
    private let alone = GuardedBytes(EDNS.defaultPayloadSize)
    private let message = GuardedBytes(longestQuery)

    private init() {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0,
            let batch = clinux_batch_new(Int32(slotCount), longestQuery, EDNS.defaultPayloadSize)
        else { preconditionFailure("no batch") }
        (server, client, self.batch) = (ends[0], ends[1], batch)
        for text in ["a.example", "www.example.com", "a.name.as.long.as.some.are.example"] { store(text) }
    }

    private func store(_ text: String) {
        guard let name = try? Name(text) else { preconditionFailure("no name: \(text)") }
        let question = Question(name: name, type: .a)
        for count in [1, 2, 3, 100] where text.utf8.count % 4 == count % 4 || count == 1 {
            let answer = Answer(name: name, addresses: (0..<UInt32(count)).map { .v4($0) }, ttl: 300)
            guard let packed = PackedAnswer(answer, for: question) else { continue }
            cache.store(
                CacheEntry(answer: packed, storedAt: Instant(nanoseconds: 0), lifetime: 300, generation: 1),
                for: QueryKey(question, dnssecOK: false, checkingDisabled: false))
        }
    }

    func play(_ datagrams: [[UInt8]], _ order: Int) {
        for bytes in datagrams {
            precondition(send(client, bytes, bytes.count, 0) == bytes.count, "a datagram is not taken")
        }
        let count = Int(clinux_batch_receive(batch, server, 0))
        precondition(count == datagrams.count, "\(count) datagrams came of \(datagrams.count)")
        guard let slots = clinux_batch_slots(batch) else { preconditionFailure("no slots") }
        // From any slot on, upwards or downwards: the preceding response buffer may or may not be written already.
        for step in 0..<count {
            let index = (order + (order & 0x80 == 0 ? step : count - step)) % count
            precondition(Int(slots[index].in_length) == min(datagrams[index].count, longestQuery), "another length")
            answer(&slots[index])
        }
        let sent = clinux_batch_send(batch, [server], 1)
        var expected = datagrams.map { reply(to: Array($0.prefix(longestQuery)), isCut: $0.count > longestQuery) }
        expected.removeAll { $0.isEmpty }
        precondition(Int(sent) == expected.count, "\(sent) replies were sent of \(expected.count)")
        for reply in expected {
            var received = [UInt8](repeating: 0, count: 65_536)
            let length = recv(client, &received, received.count, 0)
            precondition(length == reply.count && received.prefix(length).elementsEqual(reply), "another reply")
        }
    }

    private func answer(_ slot: inout clinux_slot) {
        guard let bytes = slot.in, let room = slot.out else { preconditionFailure("a slot without room") }
        let message = unsafe Span(_unsafeStart: UnsafePointer(bytes), count: Int(slot.in_length))
        var output = OutputSpan(
            buffer: UnsafeMutableBufferPointer(start: room, count: EDNS.defaultPayloadSize), initializedCount: 0)
        compose(message, isCut: slot.is_truncated != 0, into: &output)
        slot.out_length = UInt32(output.count)
    }

    /// The response to a datagram that is alone, between pages that must not be accessed.
    private func reply(to bytes: [UInt8], isCut: Bool) -> [UInt8] {
        let message = unsafe Span(_unsafeElements: message.copy(bytes, atEnd: true))
        var output = OutputSpan(buffer: alone.bytes(EDNS.defaultPayloadSize, atEnd: false), initializedCount: 0)
        compose(message, isCut: isCut, into: &output)
        return output.span.indices.map { output.span[$0] }
    }

    /// Writes what a UDP thread does: nothing, a refusal, or a hit; a miss is refused here.
    private func compose(_ message: Span<UInt8>, isCut: Bool, into output: inout OutputSpan<UInt8>) {
        guard let query = Query.read(message) else { return }
        guard !isCut, query.fault == .noError else {
            Reply.write(
                isCut ? .formatError : query.fault, to: query, message: message, limit: query.udpLimit, into: &output)
            return
        }
        let ticket = cache.ticket(for: query, in: message)
        let isHit = cache.answer(
            query, ticket, message: message, now: Instant(nanoseconds: 0), generation: 1, limit: query.udpLimit,
            into: &output)
        guard !isHit else { return }
        Reply.write(
            .refused, to: query, message: message, options: .init(error: ExtendedError(.prohibited)),
            limit: query.udpLimit, into: &output)
    }
}
