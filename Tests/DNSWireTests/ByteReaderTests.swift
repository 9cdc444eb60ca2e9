import DNSWire
import Testing

struct ByteReaderTests {
    @Test func `strings of any length come back in order`() {
        let fields = [0, 1, 255, 256, 65_535, 65_536, 70_000].map { [UInt8](repeating: UInt8($0 & 255), count: $0) }
        var bytes: [UInt8] = []
        for field in fields {
            bytes.append(field.count, bytes: 4)
            bytes += field
        }
        var reader = ByteReader(bytes)
        for field in fields { #expect(reader.string(behind: 4).map { Array($0) } == field) }
        #expect(reader.isAtEnd)
        #expect(reader.string(behind: 4) == nil)
    }

    @Test func `less than a whole string is none`() {
        let bytes: [UInt8] = [0, 0, 0, 3, 1, 2, 3]
        for length in bytes.indices {
            var reader = ByteReader(bytes[..<length])
            #expect(reader.string(behind: 4) == nil)
        }
        var long = ByteReader([1, 0, 0, 0, 7])
        #expect(long.string(behind: 4) == nil)
    }

    @Test func `a number is what was appended, as far as it has room`() {
        var bytes: [UInt8] = []
        bytes.append(0x0123_4567, bytes: 4)
        bytes.append(-1, bytes: 7)
        bytes.append(UInt64.max - 1, bytes: 8)
        var reader = ByteReader(bytes)
        #expect(reader.number(2) == 0x0123)
        #expect(reader.number(2) == 0x4567)
        #expect(reader.number(7) == 0xff_ffff_ffff_ffff)
        #expect(reader.rest.number == UInt64.max - 1)
        #expect(reader.number(9) == nil)
    }
}
