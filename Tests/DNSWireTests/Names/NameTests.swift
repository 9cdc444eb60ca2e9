import DNSWire
import Testing

/// Names in wire form: limits, letter case, ancestors.
struct NameTests {
    /// Three labels of 63 bytes and one of 61: 255 bytes in wire form.
    static let longest: [UInt8] =
        (0..<3).flatMap { _ in [63] + [UInt8](repeating: 0x78, count: 63) } + [61] + [UInt8](repeating: 0x79, count: 61)
        + [0]

    private func error(_ wire: [UInt8]) -> NameError? {
        do {
            _ = try Name(wire: wire)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (longest, nil), ([1, 0x61] + longest, .tooLong), ([63] + [UInt8](repeating: 0x61, count: 63) + [0], nil),
            ([64] + [UInt8](repeating: 0x61, count: 64) + [0], .labelTooLong),
            // A compression pointer is no part of a name.
            ([0xc0, 0x0c], .labelTooLong), ([], .truncated), ([1], .truncated), ([3, 0x61, 0x62], .truncated),
            ([1, 0x61], .truncated), ([1, 0x61, 0, 0], .truncated),
        ] as [([UInt8], NameError?)])
    func `a name has 255 bytes at most, its labels 63, and it ends with the root's`(wire: [UInt8], expected: NameError?)
    {
        #expect(error(wire) == expected)
    }

    @Test func `the root has one byte and no labels`() throws {
        let root = try Name(wire: [0])
        #expect(root == .root)
        #expect(root.isRoot)
        #expect(root.labels.isEmpty)
        #expect(root.parent == nil)
    }

    @Test func `names that differ in the case of ASCII letters are equal and hash alike`() {
        let names: Set<Name> = [name("www.example.com"), name("WWW.eXaMpLe.CoM")]
        #expect(names.count == 1)
    }

    @Test(
        arguments: [
            ([1, 0x40, 0], [1, 0x60, 0]), ([1, 0x5b, 0], [1, 0x7b, 0]), ([1, 0xc1, 0], [1, 0xe1, 0]),
        ] as [([UInt8], [UInt8])])
    func `bytes beside the ASCII letters have no letter case`(left: [UInt8], right: [UInt8]) throws {
        #expect(try Name(wire: left) != Name(wire: right))
    }

    @Test func `eight bytes at once are in lower case as each of them is`() {
        for byte in UInt8.min...UInt8.max {
            #expect(
                (UInt64(byte) &* 0x0101_0101_0101_0101).asciiLowercased / 0x0101_0101_0101_0101
                    == UInt64(asciiLowercased(byte)))
        }
    }

    @Test func `names of one length but other labels are not equal`() {
        #expect(name("a.bc") != name("ab.c"))
    }

    @Test func `lower case touches letters and never length bytes`() throws {
        let wire: [UInt8] = [3, 0x41, 0x5a, 0x30, 0]
        #expect(try Name(wire: wire).lowercased.wire == [3, 0x61, 0x7a, 0x30, 0])
    }

    @Test func `a name lies within itself, its parents and the root`() {
        let host = name("www.example.com")
        for ancestor in ["www.example.com", "EXAMPLE.com", "com", "."] {
            #expect(host.isWithin(name(ancestor)))
        }
    }

    @Test func `a name lies in no zone that only ends alike`() throws {
        #expect(!name("badexample.com").isWithin(name("example.com")))
        #expect(!name("example.com").isWithin(name("www.example.com")))
        #expect(!name("com.example").isWithin(name("com")))
        // The label "\003com" ends in the bytes of the name "com".
        let disguised = try Name(wire: [4, 3, 0x63, 0x6f, 0x6d, 0])
        #expect(!disguised.isWithin(name("com")))
    }

    @Test func `the parent lacks the leftmost label`() {
        #expect(name("www.example.com").parent == name("example.com"))
        #expect(name("com").parent == .root)
    }

    @Test func `labels come from left to right`() {
        #expect(name("www.example.com").labels.map { Array($0) } == ["www", "example", "com"].map { Array($0.utf8) })
    }

    @Test func `a label is put to the left`() throws {
        #expect(try name("example.com").prepending(label: Array("www".utf8)) == name("www.example.com"))
    }

    @Test func `a label that is empty, too long, or makes the name too long is not put to the left`() throws {
        let longest = try Name(wire: Self.longest)
        #expect(throws: NameError.emptyLabel) { try name("example.com").prepending(label: []) }
        #expect(throws: NameError.labelTooLong) {
            try name("example.com").prepending(label: [UInt8](repeating: 0x61, count: 64))
        }
        #expect(throws: NameError.tooLong) { try longest.prepending(label: [0x61]) }
    }
}
