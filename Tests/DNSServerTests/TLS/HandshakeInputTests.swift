import COpenSSL
import TestServers
import Testing

@testable import DNSServer

struct HandshakeInputTests {
    /// A record of handshake messages.
    private static func record(_ bytes: [UInt8], type: UInt8 = 22) -> [UInt8] {
        [type, 3, 1, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes
    }

    /// The beginning of a handshake message.
    private static func message(_ length: Int, has count: Int? = nil) -> [UInt8] {
        [1, UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff)]
            + [UInt8](repeating: 7, count: count ?? length)
    }

    private static let changeCipherSpec = record([1], type: 20)

    @Test func `a ClientHello is whole with its last byte, however it comes`() {
        let all =
            Self.record(Array(Self.message(300).prefix(100))) + Self.record(Array(Self.message(300).dropFirst(100)))
        var (whole, each) = (HandshakeInput(), HandshakeInput())
        #expect(whole.append(all.span) == .passes)
        for byte in all.dropLast() { #expect(each.append([byte].span) == .incomplete) }
        #expect(each.append([all[all.count - 1]].span) == .passes)
        #expect(each.count == all.count)
    }

    @Test(arguments: [16 << 10 + 1, 131_396, 0xff_ffff])
    func `one that claims to be long is known as such by its fourth byte`(length: Int) {
        var input = HandshakeInput()
        let all = Self.record(Self.message(length, has: 0))
        for byte in all.dropLast() { #expect(input.append([byte].span) == .incomplete) }
        #expect(input.append([all[all.count - 1]].span) == .isTooLong)
    }

    @Test func `the longest one that is taken passes`() {
        var input = HandshakeInput()
        #expect(input.append(Self.record(Self.message(16 << 10, has: 0)).span) == .incomplete)
    }

    @Test(arguments: [
        record(message(100)) + record(message(100_000, has: 0)),
        record(message(100)) + changeCipherSpec + record(message(100_000, has: 0)),
        record(message(100) + message(100_000, has: 0)), record([1, 0], type: 21) + record(message(100_000, has: 0)),
    ])
    func `a second one, or one behind other records, may not be long either`(bytes: [UInt8]) {
        var input = HandshakeInput()
        #expect(input.append(bytes.span) == .isTooLong)
        var later = HandshakeInput()
        #expect(later.append(Array(bytes.dropLast()).span) == .passes)
        #expect(later.append([bytes[bytes.count - 1]].span, version: TLS1_3_VERSION) == .isTooLong)
    }

    @Test func `what is encrypted in TLS 1_2 is not read as a message`() {
        var input = HandshakeInput()
        #expect(input.append(Self.record(Self.message(100)).span) == .passes)
        let finished = Self.changeCipherSpec + Self.record([1] + [UInt8](repeating: 0xff, count: 39))
        #expect(input.append(finished.span, version: TLS1_2_VERSION) == .passes)
    }

    @Test(arguments: [Array("GET / HTTP/1.1\r\n".utf8), [0x80, 0x2e, 1, 3, 1], [0xff], record([0], type: 21)])
    func `what is no ClientHello is left to OpenSSL`(bytes: [UInt8]) {
        var input = HandshakeInput()
        #expect(input.append(bytes.span) == .passes)
    }
}
