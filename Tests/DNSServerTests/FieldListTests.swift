import Testing

@testable import DNSServer

@Suite struct FieldListTests {
    @Test func `strings of any length come back in order`() {
        let fields = [0, 1, 255, 256, 65_535, 65_536, 70_000].map { [UInt8](repeating: UInt8($0 & 255), count: $0) }
        var list = FieldList()
        for field in fields { list.append(field) }
        var read = FieldList(list.bytes)
        for field in fields { #expect(read.next() == field) }
        #expect(read.next() == nil)
    }

    @Test func `less than a whole string is none`() {
        var list = FieldList()
        list.append([1, 2, 3])
        for length in 0..<list.bytes.count {
            var read = FieldList(Array(list.bytes.prefix(length)))
            #expect(read.next() == nil)
        }
        var long = FieldList([1, 0, 0, 0, 7])
        #expect(long.next() == nil)
    }
}
