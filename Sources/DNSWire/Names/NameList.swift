/// Names in lower case, concatenated in one buffer: a long list costs its bytes and no overhead for each name.
package struct NameList: Sendable, Equatable {
    /// The names in wire form.
    private var bytes: [UInt8] = []
    package private(set) var count = 0

    package init() {}

    package init(_ names: [Name]) {
        reserveCapacity(bytes: names.reduce(0) { $0 + $1.wire.count })
        for name in names { append(name) }
    }

    /// Length in bytes of all names in wire form.
    package var byteCount: Int { bytes.count }

    /// Capacity of the buffer in bytes.
    package var capacity: Int { bytes.capacity }

    /// Reserves memory for this many bytes of names in all, so that none is copied while they are added.
    package mutating func reserveCapacity(bytes: Int) { self.bytes.reserveCapacity(bytes) }

    package mutating func append(_ name: Name) {
        bytes += name.lowercased.wire
        count += 1
    }

    /// Whether the name at `place` equals `suffix`.
    package func holds(_ suffix: NameSuffix, at place: Place) -> Bool { suffix.begins(bytes, at: Int(place.byte)) }
}

extension NameList: Collection {
    /// The position of a name: valid as long as names are only appended.
    package struct Place: Comparable, Sendable {
        /// Byte offset. Four bytes suffice for any list: a configuration file ends at 1 MiB.
        fileprivate let byte: UInt32

        package static func < (left: Place, right: Place) -> Bool { left.byte < right.byte }
    }

    package var startIndex: Place { Place(byte: 0) }

    package var endIndex: Place { Place(byte: UInt32(bytes.count)) }

    package func index(after place: Place) -> Place { Place(byte: UInt32(end(of: place))) }

    package subscript(place: Place) -> Name { Name(uncheckedWire: Array(bytes[Int(place.byte)..<end(of: place)])) }

    /// The offset after a name.
    private func end(of place: Place) -> Int {
        var at = Int(place.byte)
        while bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return at + 1
    }
}

extension NameList: ExpressibleByArrayLiteral {
    package init(arrayLiteral names: Name...) { self.init(names) }
}
