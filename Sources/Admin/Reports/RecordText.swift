public import DNSWire
import HTTPDNS
import Platform

extension Record {
    /// The rdata in presentation form (RFC 1035 section 5.1), as `dig` prints it; types without one, and rdata that is
    /// malformed, in the form for unknown types (RFC 3597 section 5). Printable ASCII, whatever the bytes are.
    public var dataText: String {
        if let address { return address.description }
        return presentation ?? (rdata.isEmpty ? "\\# 0" : "\\# \(rdata.count) \(hexadecimal(rdata[...]))")
    }

    private var presentation: String? {
        guard let fields = RecordTextField.fields(of: type) else { return nil }
        if [.svcb, .https].contains(type), ServiceBinding(rdata: rdata) == nil { return nil }
        var reader = ByteReader(rdata)
        var parts: [String] = []
        for field in fields {
            guard let text = reader.text(of: field) else { return nil }
            if !text.isEmpty { parts.append(text) }
        }
        return reader.isAtEnd ? parts.joined(separator: " ") : nil
    }
}

/// A field of rdata, as it is written in presentation form.
private enum RecordTextField {
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

/// Rdata field by field as text. Every byte that is not printable ASCII comes out escaped, so that nothing in it speaks to a
/// terminal.
extension ByteReader {
    /// The next field; nil when there is none, or it is malformed.
    fileprivate mutating func text(of field: RecordTextField) -> String? {
        switch field {
        case .number(let length): return number(length).map { "\($0)" }
        case .time:
            return number(4).map { seconds in
                String(UTCTime(milliseconds: Int64(seconds) * 1_000).description.filter(\.isNumber).prefix(14))
            }
        case .name: return name()
        case .type: return number(2).map { "\(RecordType(rawValue: UInt16(truncatingIfNeeded: $0)))" }
        case .string: return string(behind: 1).map(quoted)
        case .strings: return strings()
        case .tag: return string(behind: 1).flatMap(tag)
        case .text: return remainder().map(quoted)
        case .hexadecimal: return remainder().map(hexadecimal)
        case .base64: return remainder().map { TextEncoding.base64(Array($0)) }
        case .types: return types()
        case .parameters: return parameters()
        }
    }

    private mutating func strings() -> String? {
        var texts: [String] = []
        while !isAtEnd {
            guard let string = string(behind: 1) else { return nil }
            texts.append(quoted(string))
        }
        return texts.isEmpty ? nil : texts.joined(separator: " ")
    }

    private mutating func remainder() -> ArraySlice<UInt8>? { isAtEnd ? nil : bytes(rest.count) }

    /// A name, with the final dot that makes it complete.
    private mutating func name() -> String? {
        var end = rest.startIndex
        // A length beyond the end is caught by the condition; one above 63 is refused by the name.
        while end < rest.endIndex, rest[end] != 0 { end += 1 + Int(rest[end]) }
        guard end < rest.endIndex, let name = bytes(end + 1 - rest.startIndex).flatMap({ try? Name(wire: Array($0)) })
        else { return nil }
        return name.isRoot ? "." : "\(name)."
    }

    private mutating func types() -> String? {
        var types: [String] = []
        var last = -1
        while !isAtEnd {
            guard let window = number(1), window > last, let bits = string(behind: 1).map({ Array($0) }),
                (1...32).contains(bits.count)
            else { return nil }
            last = window
            for bit in 0..<bits.count * 8 where bits[bit / 8] & (0x80 >> UInt8(bit % 8)) != 0 {
                types.append("\(RecordType(rawValue: UInt16(truncatingIfNeeded: window << 8 | bit)))")
            }
        }
        return types.joined(separator: " ")
    }

    /// The parameters of a service that `ServiceBinding` has found well-formed.
    private mutating func parameters() -> String? {
        var texts: [String] = []
        while !isAtEnd {
            guard let key = number(2), let value = string(behind: 2) else { return nil }
            texts.append(parameter(key, Array(value)))
        }
        return texts.joined(separator: " ")
    }
}

private func parameter(_ key: Int, _ value: [UInt8]) -> String {
    let name = parameterName(key)
    switch key {
    case 0: return name + "=" + numbers(value).map(parameterName).joined(separator: ",")
    case 1: return name + "=" + quoted(list(value))
    case 3: return name + "=" + numbers(value).map(String.init).joined()
    case 4, 6: return name + "=" + addresses(value, length: key == 4 ? 4 : 16).joined(separator: ",")
    case 5: return name + "=" + TextEncoding.base64(value)
    default: return value.isEmpty ? name : name + "=" + quoted(value[...])
    }
}

private func parameterName(_ key: Int) -> String {
    let names = ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint"]
    return key < names.count ? names[key] : "key\(key)"
}

private func numbers(_ value: [UInt8]) -> [Int] {
    stride(from: 0, to: value.count - 1, by: 2).map { Int(value[$0]) << 8 | Int(value[$0 + 1]) }
}

private func addresses(_ value: [UInt8], length: Int) -> [String] {
    stride(from: 0, to: value.count, by: length).compactMap { start in
        IPAddress(bytes: value[start..<min(start + length, value.count)])?.description
    }
}

/// The items of `alpn` with commas between them; commas and backslashes in an item are escaped (RFC 9460 appendix
/// A.1).
private func list(_ value: [UInt8]) -> ArraySlice<UInt8> {
    var (text, rest) = ([UInt8](), value[...])
    while let length = rest.popFirst() {
        if !text.isEmpty { text.append(UInt8(ascii: ",")) }
        for byte in rest.prefix(Int(length)) {
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
        rest = rest.dropFirst(Int(length))
    }
    return text[...]
}

private func tag(_ bytes: ArraySlice<UInt8>) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    return !bytes.isEmpty
        && text.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) }
        ? text : nil
}

private func quoted(_ bytes: ArraySlice<UInt8>) -> String {
    var text: [UInt8] = [UInt8(ascii: "\"")]
    for byte in bytes {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
        case 0x20...0x7e: text.append(byte)
        default:
            text.append(UInt8(ascii: "\\"))
            for unit: UInt8 in [100, 10, 1] { text.append(UInt8(ascii: "0") + byte / unit % 10) }
        }
    }
    text.append(UInt8(ascii: "\""))
    return String(decoding: text, as: UTF8.self)
}

private func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String { TextEncoding.hexadecimal(bytes).uppercased() }
