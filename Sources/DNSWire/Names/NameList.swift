/// Names in lower case, one behind the other in one buffer: a long list costs its bytes and nothing for each name.
package struct NameList: Sendable, Equatable {
    /// In wire form.
    private var bytes: [UInt8] = []
    package private(set) var count = 0

    package init() {}

    package init(_ names: [Name]) {
        reserveCapacity(bytes: names.reduce(0) { $0 + $1.wire.count })
        for name in names { append(name) }
    }

    /// Bytes of all names in wire form.
    package var byteCount: Int { bytes.count }

    /// Bytes of memory that it has taken.
    package var capacity: Int { bytes.capacity }

    /// Takes memory for so many bytes of names in all, so that none is copied while they are added.
    package mutating func reserveCapacity(bytes: Int) { self.bytes.reserveCapacity(bytes) }

    package mutating func append(_ name: Name) {
        bytes += name.lowercased.wire
        count += 1
    }

    /// Whether the name at `place` is this one.
    package func holds(_ suffix: NameSuffix, at place: Place) -> Bool { suffix.begins(bytes, at: Int(place.byte)) }
}

extension NameList: Collection {
    /// Where a name begins: valid as long as nothing but names behind it is added.
    package struct Place: Comparable, Sendable {
        /// Counted from 0. Four of them hold any list there is: a configuration file ends at 1 MiB.
        fileprivate let byte: UInt32

        package static func < (left: Place, right: Place) -> Bool { left.byte < right.byte }
    }

    package var startIndex: Place { Place(byte: 0) }

    package var endIndex: Place { Place(byte: UInt32(bytes.count)) }

    package func index(after place: Place) -> Place { Place(byte: UInt32(end(of: place))) }

    package subscript(place: Place) -> Name { Name(uncheckedWire: Array(bytes[Int(place.byte)..<end(of: place)])) }

    /// The byte behind a name.
    private func end(of place: Place) -> Int {
        var at = Int(place.byte)
        while bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return at + 1
    }
}

extension NameList: ExpressibleByArrayLiteral {
    package init(arrayLiteral names: Name...) { self.init(names) }
}
