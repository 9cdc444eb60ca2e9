/// A field of rdata, as far as names and fixed lengths in it are concerned.
///
/// Compressed names are expanded only in the types of RFC 1035, those that RFC 3597 section 4 lists for receivers, KX
/// and DNAME; every other type is opaque.
enum RecordDataField {
    /// This number of bytes.
    case bytes(Int)
    /// A length byte and that number of bytes.
    case string
    case name
    /// All remaining bytes.
    case rest

    static func fields(of type: RecordType) -> [RecordDataField] {
        switch type.rawValue {
        case 1: [.bytes(4)]
        case 28: [.bytes(16)]
        case 2, 3, 4, 5, 7, 8, 9, 12, 39: [.name]
        case 6: [.name, .name, .bytes(20)]
        case 14, 17: [.name, .name]
        case 15, 18, 21, 36: [.bytes(2), .name]
        case 24: [.bytes(18), .name, .rest]
        case 26: [.bytes(2), .name, .name]
        case 30: [.name, .rest]
        case 33: [.bytes(6), .name]
        case 35: [.bytes(4), .string, .string, .string, .name]
        default: [.rest]
        }
    }

    /// Whether names in the rdata of `type` may be compressed when sent: the types of RFC 1035 only (RFC 3597 section
    /// 4).
    static func compressesNames(of type: RecordType) -> Bool {
        switch type.rawValue {
        case 2...9, 12, 14, 15: true
        default: false
        }
    }
}

extension MessageParser {
    /// Parses rdata up to `end`, with names expanded.
    ///
    /// A and AAAA are addresses in class IN only; in other classes they are opaque (RFC 3597 section 2).
    mutating func rdata(of type: RecordType, class: RecordClass, end: Int) throws(MessageParseError) -> [UInt8] {
        var rdata: [UInt8] = []
        let isOpaque = type.isAddress && `class` != .internet
        for field in isOpaque ? [.rest] : RecordDataField.fields(of: type) {
            switch field {
            case .bytes(let count):
                rdata += try take(count, before: end)
            case .string:
                let length = try take(1, before: end)
                rdata += length
                rdata += try take(length.reduce(0) { $0 + Int($1) }, before: end)
            case .name:
                rdata += try name().wire
                guard offset <= end else { throw fault(.rdataLength) }
            case .rest:
                rdata += try take(end - offset, before: end)
            }
        }
        guard offset == end else { throw fault(.rdataLength) }
        return rdata
    }
}
