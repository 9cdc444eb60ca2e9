import DNSWire
import TestSupport
import Testing

struct ServiceBindingTests {
    private static let alpn: (UInt16, [UInt8]) = (1, [2] + Array("h3".utf8))
    private static let four: (UInt16, [UInt8]) = (4, [192, 0, 2, 1, 192, 0, 2, 2])
    private static let six: (UInt16, [UInt8]) = (6, Array(repeating: 7, count: 16))
    private static let ech: (UInt16, [UInt8]) = (5, [1, 2, 3])
    private static let unknown: (UInt16, [UInt8]) = (1_234, [])

    @Test func `what was read is written byte for byte`() throws {
        for bytes in [
            TestServiceBinding.rdata(0, "cdn.example.net"), TestServiceBinding.rdata(1),
            TestServiceBinding.rdata(
                16, "cdn.example.net",
                [Self.alpn, (2, []), (3, [1, 187]), Self.four, Self.ech, Self.six, Self.unknown]),
            TestServiceBinding.rdata(1, ".", [(0, [0, 1, 0, 4]), Self.alpn, Self.four]),
        ] { #expect(try #require(ServiceBinding(rdata: bytes)).rdata == bytes) }
    }

    @Test(arguments: [
        [], [0], [0, 1], [0, 1, 64], [0, 1, 1], [0, 1, 0xc0, 0x0c], TestServiceBinding.rdata(1, ".", [alpn, alpn]),
        TestServiceBinding.rdata(1, ".", [four, alpn]), TestServiceBinding.rdata(1, ".", [(1, [])]),
        TestServiceBinding.rdata(1, ".", [(1, [0])]), TestServiceBinding.rdata(1, ".", [(1, [3, 104])]),
        TestServiceBinding.rdata(1, ".", [(2, [])]), TestServiceBinding.rdata(1, ".", [alpn, (2, [0])]),
        TestServiceBinding.rdata(1, ".", [(3, [1])]), TestServiceBinding.rdata(1, ".", [(4, [])]),
        TestServiceBinding.rdata(1, ".", [(4, [1, 2, 3])]), TestServiceBinding.rdata(1, ".", [(6, [1, 2, 3, 4])]),
        TestServiceBinding.rdata(1, ".", [(0, [])]),
        TestServiceBinding.rdata(1, ".", [(0, [0, 1]), four]), TestServiceBinding.rdata(1, ".", [(0, [0]), alpn]),
        TestServiceBinding.rdata(1, ".", [(0, [0, 0]), alpn]),
        TestServiceBinding.rdata(1, ".", [(0, [0, 4, 0, 1]), alpn, four]),
        TestServiceBinding.rdata(1, ".", [(0, [0, 1, 0, 1]), alpn]),
        TestServiceBinding.rdata(1, ".", [(65_535, [])]), TestServiceBinding.rdata() + [0],
        TestServiceBinding.rdata() + [0, 1, 0], TestServiceBinding.rdata() + [0, 1, 0, 9, 2, 104, 51],
    ])
    func `malformed rdata is refused`(bytes: [UInt8]) { #expect(ServiceBinding(rdata: bytes) == nil) }

    @Test func `the hints of both families go, and nothing else changes`() throws {
        let all = [Self.alpn, Self.four, Self.ech, Self.six, Self.unknown]
        for hinted in [all, [Self.alpn, Self.four, Self.ech, Self.unknown], [Self.alpn, Self.ech, Self.unknown]] {
            let binding = try #require(ServiceBinding(rdata: TestServiceBinding.rdata(1, ".", hinted)))
            #expect(
                binding.withoutHints?.rdata == TestServiceBinding.rdata(1, ".", [Self.alpn, Self.ech, Self.unknown]))
        }
    }

    @Test(arguments: [4, 6] as [UInt8])
    func `a record that demands its hint is of no use without`(key: UInt8) throws {
        let bytes = TestServiceBinding.rdata(
            1, ".", [(0, [0, 1, 0, key]), Self.alpn, key == 4 ? Self.four : Self.six])
        #expect(try #require(ServiceBinding(rdata: bytes)).withoutHints == nil)
    }
}
