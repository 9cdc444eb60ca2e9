import Testing

@testable import DNSWire

/// Compression pointers: only backward, and of limited number.
struct PointerTests {
    private static let header = hex("0000 8180 0001 0000 0000 0000")

    /// A response whose only question has this name; the question begins at byte 12.
    private func parse(question: [UInt8]) throws(MessageParseError) -> Message {
        try MessageParser.parse(Self.header + question + [0, 1, 0, 1])
    }

    private func error(question: [UInt8]) -> MessageParseError.Reason? {
        do {
            _ = try parse(question: question)
            return nil
        } catch {
            return error.reason
        }
    }

    /// A message with one question, of the root, and one record of an unknown type that holds `prelude`; its second
    /// record is owned by the name that begins at `start` in the prelude.
    private func parse(prelude: [UInt8], start: Int) throws(MessageParseError) -> Message {
        var bytes = hex("0000 8180 0001 0002 0000 0000  00 0001 0001")
        bytes += hex("00 ff00 0001 00000000") + [UInt8(prelude.count >> 8), UInt8(prelude.count & 255)]
        let pointer = bytes.count + start
        bytes += prelude + [0xc0 | UInt8(pointer >> 8), UInt8(pointer & 255)] + hex("0001 0001 00000000 0004 c0000201")
        return try MessageParser.parse(bytes)
    }

    /// Where the prelude begins in the message.
    private static let preludeOffset = 28

    @Test func `a pointer to a name before it is followed`() throws {
        let message = try parse(prelude: hex("076578616d706c6503636f6d00"), start: 0)
        #expect(message.answers.last?.name == name("example.com"))
    }

    @Test(
        arguments: [
            // Forward, to itself, to the labels before it in the same name, into the header.
            [0xc0, 0x0e, 0], [1, 0x61, 0xc0, 0x10, 0], [0xc0, 0x0c], [1, 0x61, 0xc0, 0x0c],
            [1, 0x61, 1, 0x62, 0xc0, 0x0e], [0xc0, 0], [0xc0, 4], [0xc0, 11],
        ] as [[UInt8]])
    func `a pointer that does not lead to a name before it is refused`(question: [UInt8]) {
        #expect(error(question: question) == .forwardPointer)
    }

    @Test func `two pointers to each other are refused`() {
        let at = UInt8(Self.preludeOffset)
        #expect(throws: MessageParseError.self) {
            try parse(prelude: [0xc0, at + 2, 0xc0, at], start: 2)
        }
    }

    @Test func `a pointer cut in half is refused`() {
        #expect(throws: MessageParseError(reason: .truncated, offset: 12)) {
            try MessageParser.parse(Self.header + [0xc0])
        }
    }

    @Test(arguments: [0x40, 0x7f, 0x80, 0xbf] as [UInt8])
    func `a label of a reserved type is refused`(type: UInt8) {
        #expect(error(question: [type, 0, 0]) == .labelType)
    }

    /// One name that ends in the root, then names of one label, or none, and a pointer to the previous one.
    private func chain(of count: Int, label: [UInt8]) -> (bytes: [UInt8], last: Int) {
        var bytes: [UInt8] = [0]
        var last = 0
        for _ in 0..<count {
            let target = Self.preludeOffset + last
            last = bytes.count
            bytes += label + [0xc0 | UInt8(target >> 8), UInt8(target & 255)]
        }
        return (bytes, last)
    }

    @Test func `a chain of 127 pointers, one for each label of the longest name, is followed`() throws {
        let chain = chain(of: 127, label: [1, 0x61])
        #expect(try parse(prelude: chain.bytes, start: chain.last).answers.last?.name.labels.count == 127)
    }

    /// If they were not refused, 4,000 records owned by the end of 8,000 such pointers in one message would block the
    /// reader for 0.1 s.
    @Test func `a chain of 200 pointers without labels is refused`() {
        let chain = chain(of: 200, label: [])
        #expect(throws: MessageParseError(reason: .pointerChain, offset: Self.preludeOffset + chain.bytes.count)) {
            try parse(prelude: chain.bytes, start: chain.last)
        }
    }
}
