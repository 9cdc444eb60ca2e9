import DNSWire
import TestSupport
import Testing

@testable import Upstreams

struct RedisReaderTests {
    /// Passes `bytes` to a reader in parts of `size` bytes.
    private func replies(in bytes: [UInt8], inPartsOf size: Int = .max) throws -> [RedisReply] {
        guard var reader = RedisReader() else { throw TestFailure("no memory") }
        var replies: [RedisReply] = []
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                try reader.receive(UnsafeRawBufferPointer(rebasing: rest.prefix(size))) { replies.append($0) }
                rest = rest.dropFirst(size)
            }
        }
        return replies
    }

    private func replies(in text: String, inPartsOf size: Int = .max) throws -> [RedisReply] {
        try replies(in: Array(text.utf8), inPartsOf: size)
    }

    @Test(arguments: [1, 2, 5, 1_000]) func `every kind of reply is read, in parts of any size`(size: Int) throws {
        let text =
            "+OK\r\n-OOM command not allowed\r\n:42\r\n$3\r\na\r\n\r\n$-1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$0\r\n\r\n"
        #expect(
            try replies(in: text, inPartsOf: size) == [
                .status("OK"), .error("OOM command not allowed"), .integer(42), .bytes(Array("a\r\n".utf8)), .nothing,
                .list([.bytes(Array("message".utf8)), .bytes(Array("c".utf8)), .bytes([])]),
            ])
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\n", "\u{0}\u{0}\u{0}\u{0}\r\n", "$x\r\n", "*x\r\n", "%1\r\n+a\r\n+b\r\n"])
    func `bytes that are no reply are damage`(text: String) {
        #expect(throws: UpstreamFailure.self) { try replies(in: text) }
    }

    @Test(arguments: ["*9\r\n", "*2147483647\r\n", "*4294967296\r\n", "*1\r\n*1000000\r\n"])
    func `an array of more elements than any reply has is refused before memory is taken for it`(text: String) {
        #expect(throws: UpstreamFailure.self) { try replies(in: text) }
    }

    /// Its header alone moves the reader on: what has come of such a reply is never long, and its elements are many.
    @Test(arguments: ["*1\r\n*1\r\n", "*2\r\n:1\r\n*8\r\n", "*1\r\n*0\r\n"])
    func `an array within an array is refused at its header`(text: String) {
        #expect(throws: UpstreamFailure.self) { try replies(in: text) }
    }

    @Test(arguments: [16_385, 1 << 31, Int.max])
    func `a value longer than the limit is refused once that much of it has come`(length: Int) {
        let bytes = Array("$\(length)\r\n".utf8) + [UInt8](repeating: 0x61, count: 20_000)
        #expect(throws: UpstreamFailure.self) { try replies(in: bytes, inPartsOf: 4_096) }
    }

    @Test func `a value of the limit is read`() throws {
        let value = [UInt8](repeating: 0x61, count: 16_000)
        let bytes = Array("$16000\r\n".utf8) + value + Array("\r\n".utf8)
        #expect(try replies(in: bytes, inPartsOf: 4_096) == [.bytes(value)])
    }

    @Test func `the text of an error is printable and fits a line`() throws {
        let text = "-ERR \u{1b}[2J" + String(repeating: "x", count: 500) + "\r\n"
        let refusal = try #require(try replies(in: text).first?.refusal)
        #expect(refusal.hasPrefix("ERR ?[2Jxx"))
        #expect(refusal.utf8.count == 120)
    }
}
