import Platform
import Testing

@testable import DNSServer

struct ProxyHeaderTests {
    static let signature: [UInt8] = [
        0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
    ]

    /// Of a connection over TCP and IPv4 from port 258 of this client, with more behind the addresses.
    static func header(client: [UInt8], more: [UInt8] = [4, 0, 1, 0]) -> [UInt8] {
        signature + [0x21, 0x11, 0, UInt8(12 + more.count)] + client + [127, 0, 0, 1, 1, 2, 3, 0x55] + more
    }

    private func progress(_ bytes: [UInt8]) -> ProxyHeader.Progress {
        var header = ProxyHeader()
        header.append(bytes)
        return header.progress
    }

    @Test func `the client of IPv4 is read, however the header is cut`() {
        let bytes = Self.header(client: [192, 0, 2, 1])
        var header = ProxyHeader()
        for (index, byte) in bytes.enumerated() {
            #expect(header.progress == .needs((index < 16 ? 16 : bytes.count) - index))
            header.append([byte])
        }
        #expect(header.progress == .isDone(client: SocketAddress(ipv4: 0xc000_0201, port: 258)))
    }

    @Test func `the client of IPv6 is read`() {
        let client: [UInt8] = [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [7]
        let bytes = Self.signature + [0x21, 0x21, 0, 36] + client + [UInt8](repeating: 0, count: 16) + [0, 9, 0, 1]
        #expect(progress(bytes) == .isDone(client: SocketAddress(ipv6: 0x2001_0db8_0000_0000, 7, port: 9)))
    }

    @Test func `a client of IPv4 that is reported as one of IPv6 is one of IPv4`() {
        let client = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 192, 0, 2, 1]
        let bytes = Self.signature + [0x21, 0x21, 0, 36] + client + [UInt8](repeating: 0, count: 16) + [0, 9, 0, 1]
        #expect(progress(bytes) == .isDone(client: SocketAddress(ipv4: 0xc000_0201, port: 9)))
    }

    @Test func `a connection of the proxy's own has no other client`() {
        #expect(progress(Self.signature + [0x20, 0x00, 0, 0]) == .isDone(client: nil))
        #expect(progress(Self.signature + [0x21, 0x00, 0, 0]) == .isDone(client: nil))
    }

    @Test(
        arguments: [
            [0x16, 0x03], Array("PROXY TCP4 192.0.2.1".utf8), signature + [0x11, 0x11, 0, 12],
            signature + [0x21, 0x12, 0, 0], signature + [0x21, 0x11, 0, 4, 1, 2, 3, 4], signature + [0x21, 0x31, 0, 0],
            signature + [0x22, 0x11, 0, 0], signature + [0x21, 0x11, 0xff, 0xff],
        ] as [[UInt8]])
    func `what is no such header is refused`(bytes: [UInt8]) { #expect(progress(bytes) == .isInvalid) }
}
