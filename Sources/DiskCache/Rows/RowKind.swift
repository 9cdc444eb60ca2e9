import DNSWire

/// What was asked of the name of a row. A name's answers of both address families are one row: most services are asked
/// for both at once.
struct RowKind: Equatable {
    /// A for both address families.
    let type: RecordType
    let `class`: RecordClass
    /// 1: asked with DO, 2: with CD.
    let flags: UInt8

    init(_ type: RecordType, _ class: RecordClass, flags: UInt8) {
        self.type = type == .aaaa ? .a : type
        self.class = `class`
        self.flags = flags
    }

    /// - Parameter tail: the last five bytes of a `QueryKey`.
    init(tail: Span<UInt8>) {
        self.init(
            RecordType(rawValue: UInt16(tail[0]) << 8 | UInt16(tail[1])),
            RecordClass(rawValue: UInt16(tail[2]) << 8 | UInt16(tail[3])), flags: tail[4])
    }

    /// The kind of a number; nil for a number that is never written.
    init?(number: Int64) {
        guard number >> 40 == 0, number & 0xff < 4 else { return nil }
        let type = RecordType(rawValue: UInt16(number >> 24))
        guard type != .aaaa else { return nil }
        self.init(
            type, RecordClass(rawValue: UInt16(truncatingIfNeeded: number >> 8)),
            flags: UInt8(truncatingIfNeeded: number))
    }

    /// Type, class and flags as a number of the file: 16, 16 and 8 bits.
    var number: Int64 { Int64(type.rawValue) << 24 | Int64(`class`.rawValue) << 8 | Int64(flags) }

    /// Whether a row of this kind has the answers of both address families.
    var hasFamilies: Bool { type == .a }
}
