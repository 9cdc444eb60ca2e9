package import DNSWire

/// A field of rdata, as it is written in presentation form.
enum RecordTextField {
    /// A number of this many bytes, at most 4.
    case number(Int)
    /// A time in seconds since 1970, as `YYYYMMDDHHmmSS` (RFC 4034 section 3.2).
    case time
    case name
    /// The type that a signature covers.
    case type
    /// A character string in quotation marks.
    case string
    /// One or more of them, to the end.
    case strings
    /// A character string of letters and digits.
    case tag
    /// All remaining bytes, at least one: as one character string, as hexadecimal digits, or as Base64.
    case text, hexadecimal, base64
    /// The types that a name has (RFC 4034 section 4.1.2), to the end.
    case types
    /// The parameters of a service (RFC 9460 section 2.1), to the end.
    case parameters

    /// The fields of a type; nil for one that is written in the form for unknown types.
    static func fields(of type: RecordType) -> [RecordTextField]? {
        switch type.rawValue {
        case 2...5, 7...9, 12, 39: [.name]
        case 6: [.name, .name, .number(4), .number(4), .number(4), .number(4), .number(4)]
        case 13: [.string, .string]
        case 14, 17: [.name, .name]
        case 15, 18, 21, 36: [.number(2), .name]
        case 16, 99: [.strings]
        case 33: [.number(2), .number(2), .number(2), .name]
        case 35: [.number(2), .number(2), .string, .string, .string, .name]
        case 43, 59: [.number(2), .number(1), .number(1), .hexadecimal]
        case 44: [.number(1), .number(1), .hexadecimal]
        case 46: [.type, .number(1), .number(1), .number(4), .time, .time, .number(2), .name, .base64]
        case 47: [.name, .types]
        case 48, 60: [.number(2), .number(1), .number(1), .base64]
        case 52, 53: [.number(1), .number(1), .number(1), .hexadecimal]
        case 61: [.base64]
        case 64, 65: [.number(2), .name, .parameters]
        case 256: [.number(2), .number(2), .text]
        case 257: [.number(1), .tag, .text]
        default: nil
        }
    }
}

extension Record {
    /// The rdata in presentation form (RFC 1035 section 5.1), as `dig` prints it; types without one, and rdata that is
    /// malformed, in the form for unknown types (RFC 3597 section 5). Printable ASCII, whatever the bytes are.
    package var dataText: String {
        if let address { return address.description }
        return presentation ?? RecordDataReader.unknown(rdata)
    }

    private var presentation: String? {
        guard let fields = RecordTextField.fields(of: type) else { return nil }
        if [.svcb, .https].contains(type), ServiceBinding(rdata: rdata) == nil { return nil }
        var reader = RecordDataReader(rdata)
        var parts: [String] = []
        for field in fields {
            guard let text = reader.text(of: field) else { return nil }
            if !text.isEmpty { parts.append(text) }
        }
        return reader.isAtEnd ? parts.joined(separator: " ") : nil
    }
}
