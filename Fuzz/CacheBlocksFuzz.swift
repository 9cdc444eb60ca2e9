// A script of steps on a small cache: answers of many sizes, and answers made from any bytes, are stored under few
// names, asked for, restamped, removed, walked over and moved to a cache of another size. A model records what was
// stored last under each name: a hit must be equal to that. Responses are written between pages that must not be
// accessed.

import DNSWire

@testable import DNSCache

func fuzzCacheBlocks(_ input: [UInt8]) {
    var play = CachePlay(Script(input))
    play.run()
}

private let messageMemory = GuardedBytes(512)
private let replyMemory = GuardedBytes(65_536)

private struct CachePlay {
    private var script: Script
    private let cache: MemoryCache
    /// The answer stored last for each question, by the bytes of its key.
    private var stored: [[UInt8]: PackedAnswer] = [:]
    private var now = Instant(nanoseconds: 1_000_000_000)

    init(_ script: Script) {
        self.script = script
        cache = MemoryCache(memory: (self.script.number() + 8) << 10)
    }

    mutating func run() {
        while let step = script.next() {
            switch step % 10 {
            case 0, 1: storeAddresses()
            case 2: storeBytes(isReply: true)
            case 3: storeBytes(isReply: false)
            case 4, 5: ask()
            case 6: change(step)
            case 7: walk(removing: false)
            case 8: cache.rebuild(part: 0, memory: (script.number() + 8) << 10, policy: FreshnessPolicy())
            default: now = now + .seconds(script.number())
            }
        }
        walk(removing: true)
        precondition(cache.statistics.entries == 0, "something stays that no walk meets")
    }

    /// One of a few names of different lengths: some shorter than a word, one of the greatest length.
    private mutating func question() -> Question {
        let number = script.number()
        var wire: [UInt8] = []
        for _ in 0..<(number & 3) { wire += [63] + [UInt8](repeating: UInt8(ascii: "A"), count: 63) }
        let length = number >> 2
        if length > 0 {
            wire += [UInt8(min(length, 61))] + [UInt8](repeating: 0x61 + UInt8(number & 7), count: min(length, 61))
        }
        guard let name = try? Name(wire: wire + [0]) else { return Question(name: .root, type: .a) }
        return Question(name: name, type: number & 64 == 0 ? .a : .txt)
    }

    private mutating func storeAddresses() {
        let question = question()
        let count = script.number()
        store(
            PackedAnswer(
                Answer(name: question.name, addresses: (0..<UInt32(count * count / 64)).map { .v4($0) }, ttl: 300),
                for: question), for: question)
    }

    /// Stores an answer made from bytes: of the records of a service's response, or of a row of the disk.
    private mutating func storeBytes(isReply: Bool) {
        let question = question()
        let code: ResponseCode = script.number() & 1 == 0 ? .noError : .nameError
        let counts = PackedAnswer.SectionCounts(
            answer: UInt16(script.number() & 7), authority: UInt16(script.number() & 3),
            additional: UInt16(script.number() & 1))
        let body = script.bytes(script.number())
        if !isReply {
            guard let checked = PackedAnswer.checked(body, responseCode: code, counts: counts, for: question) else {
                return
            }
            precondition(checked.answer.body == body && checked.answer.counts == counts, "another answer")
            return store(checked.answer, for: question)
        }
        var bytes = Message(id: 1, flags: .response, questions: [question]).encoded
        for (place, count) in [(7, counts.answer), (9, counts.authority), (11, counts.additional)] {
            bytes[place] = UInt8(count)
        }
        bytes[3] |= UInt8(code.rawValue)
        guard let message = try? MessageParser.parse(bytes + body),
            case .answer(let answer) = ReceivedReply(message, to: question, dnssecOK: true)
        else { return }
        store(PackedAnswer(answer, for: question), for: question)
    }

    private mutating func store(_ packed: PackedAnswer?, for question: Question) {
        guard var packed else { return }
        packed.rotates = script.number() & 1 == 0 && packed.isRotatable
        for type in [RecordType.a, .aaaa] { _ = packed.holds(type) }
        for address in packed.addresses.prefix(3) {
            precondition(packed.holds(address), "an address that is not there")
        }
        precondition(packed.unpacked(for: question) != nil, "what was packed cannot be read")
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false)
        let entry = CacheEntry(
            answer: packed, storedAt: now, lifetime: 300, generation: 1, refreshMargin: UInt32(script.number()))
        stored[key.array] = cache.store(entry, for: key) ? packed : nil
    }

    /// Asks for a name in any letter case, with enough space for any response or too little.
    private mutating func ask() {
        let question = question()
        let limit = script.number() << 8 | 255
        let bytes = Message(id: 7, flags: .recursionDesired, questions: [question]).encoded
        let span = unsafe Span(_unsafeElements: messageMemory.copy(bytes, atEnd: limit & 0x100 == 0))
        guard let query = Query.read(span) else { preconditionFailure("no query") }
        var output = OutputSpan(buffer: replyMemory.bytes(limit, atEnd: limit & 0x200 == 0), initializedCount: 0)
        let isHit = cache.answer(
            query, cache.ticket(for: query, in: span), message: span, now: now, generation: 1, limit: limit,
            into: &output)
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false)
        guard isHit else {
            precondition(output.count == 0, "a miss with a reply")
            return refuseHeader(of: bytes, atEnd: limit & 0x400 == 0)
        }
        let reply = output.span.indices.map { output.span[$0] }
        guard let message = try? MessageParser.parse(reply) else { preconditionFailure("a reply that is no message") }
        precondition(message.questions == [question] && reply.count <= limit, "a reply to something else")
        guard let packed = stored[key.array] else { preconditionFailure("an answer that was never stored") }
        guard !message.flags.contains(.truncated) else { return }
        precondition(reply.count == bytes.count + packed.body.count, "a reply of another length")
        precondition(Set(message.answers.map(\.untimed)) == packed.records(of: question), "other records")
        precondition(cache.entry(for: key)?.answer == packed, "another answer")
    }

    /// Answers a message that ends with its header: the shortest message, with the shortest response.
    private func refuseHeader(of message: [UInt8], atEnd: Bool) {
        let bytes = Array(message.prefix(4)) + [UInt8](repeating: 0, count: 8)
        let span = unsafe Span(_unsafeElements: messageMemory.copy(bytes, atEnd: atEnd))
        guard let query = Query.read(span) else { preconditionFailure("no query") }
        var output = OutputSpan(buffer: replyMemory.bytes(bytes.count, atEnd: atEnd), initializedCount: 0)
        let isWritten = Reply.write(query.fault, to: query, message: span, limit: bytes.count, into: &output)
        precondition(isWritten && output.count == bytes.count, "no reply to a header")
    }

    private mutating func change(_ step: UInt8) {
        let question = question()
        let key = QueryKey(question, dnssecOK: false, checkingDisabled: false)
        switch step / 10 % 4 {
        case 0:
            let rotates = stored[key.array]?.rotates ?? false
            cache.restamp(key, generation: UInt32(script.number() & 1), rotates: rotates)
        case 1: _ = cache.claimRefresh(of: key)
        case 2:
            cache.remove(key)
            precondition(cache.entry(for: key) == nil, "what was removed is there")
        default:
            cache.removeAll()
            precondition(cache.statistics.entries == 0, "what was removed is there")
        }
    }

    private func walk(removing: Bool) {
        // Removing an entry moves later ones to the front: so the walk starts again until nothing is left.
        var left = cache.statistics.entries
        repeat {
            var cursor: CacheCursor? = .start
            while let place = cursor {
                let (answers, next) = cache.walk(from: place, slots: 7) { _ in true }
                for answer in answers {
                    let key = answer.key()
                    precondition(stored[key.array] == answer.entry.answer, "an answer that was not stored last")
                    if removing { cache.remove(key) }
                }
                cursor = next
            }
            precondition(!removing || left == 0 || cache.statistics.entries < left, "nothing was met")
            left = cache.statistics.entries
        } while removing && left > 0
    }
}

extension Record {
    /// The same with a TTL of 0: those of a response have aged.
    fileprivate var untimed: Record {
        var record = self
        record.ttl = 0
        return record
    }
}

extension PackedAnswer {
    /// The answer section in no order, without TTLs.
    fileprivate func records(of question: Question) -> Set<Record> {
        Set(unpacked(for: question)?.answers.map(\.untimed) ?? [])
    }
}
