/// The reason why a message cannot be parsed, and the place.
public struct MessageParseError: Error, Hashable, Sendable {
    public enum Reason: String, Hashable, Sendable {
        case shortHeader = "fewer than 12 bytes"
        case truncated = "a length reaches past the end"
        case labelType = "a label of a type other than plain or pointer"
        case forwardPointer = "a compression pointer that does not point backward"
        case pointerChain = "more compression pointers in a name than it can have labels"
        case nameTooLong = "a name of more than 255 bytes"
        case rdataLength = "rdata longer or shorter than its type allows"
        case misplacedOPT = "an OPT record outside the additional section, not at the root, or a second one"
        case optionLength = "an EDNS option that reaches past its record"
    }

    public var reason: Reason
    /// Bytes from the start of the message.
    public var offset: Int
}

extension MessageParseError: CustomStringConvertible {
    public var description: String { "\(reason.rawValue), at byte \(offset)" }
}

/// Parses a message from start to end (RFC 1035 section 4). Its input is untrusted.
///
/// Memory is bounded by the message's size: at most 65,535 bytes have at most 5,958 records, each name at most 255
/// bytes.
public struct MessageParser {
    let bytes: [UInt8]
    private(set) var offset = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Parses one message; bytes after its last record are ignored.
    public static func parse(_ bytes: [UInt8]) throws(MessageParseError) -> Message {
        var parser = MessageParser(bytes)
        return try parser.message()
    }

    private mutating func message() throws(MessageParseError) -> Message {
        guard bytes.count >= Header.length else { throw fault(.shortHeader) }
        var message = Message(id: try uint16(), flags: HeaderFlags(rawValue: try uint16()))
        let counts = (try uint16(), try uint16(), try uint16(), try uint16())
        for _ in 0..<counts.0 { message.questions.append(try question()) }
        for _ in 0..<counts.1 { message.answers.append(try record()) }
        for _ in 0..<counts.2 { message.authorities.append(try record()) }
        for _ in 0..<counts.3 {
            if isOPT() {
                guard message.edns == nil else { throw fault(.misplacedOPT) }
                message.edns = try edns()
            } else {
                message.additionals.append(try record())
            }
        }
        return message
    }

    private mutating func question() throws(MessageParseError) -> Question {
        Question(
            name: try name(), type: RecordType(rawValue: try uint16()), class: RecordClass(rawValue: try uint16()))
    }

    private mutating func record() throws(MessageParseError) -> Record {
        let start = offset
        let owner = try name()
        let type = RecordType(rawValue: try uint16())
        guard type != .opt else { throw MessageParseError(reason: .misplacedOPT, offset: start) }
        let recordClass = RecordClass(rawValue: try uint16())
        let ttl = try uint32()
        let length = Int(try uint16())
        guard bytes.count - offset >= length else { throw fault(.truncated) }
        let rdata = try rdata(of: type, class: recordClass, end: offset + length)
        // Expanded names may have made it longer than any rdata can be.
        guard rdata.count <= Record.maximumDataLength else {
            throw MessageParseError(reason: .rdataLength, offset: start)
        }
        return Record(name: owner, type: type, class: recordClass, ttl: ttl > 0x7fff_ffff ? 0 : ttl, rdata: rdata)
    }

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

    /// Whether an OPT record follows: its owner is the root, in one byte.
    ///
    /// With any other owner, a pointer to a root included, it is parsed as an ordinary record, and refused there.
    private func isOPT() -> Bool {
        bytes.count - offset >= 3 && bytes[offset] == 0
            && UInt16(bytes[offset + 1]) << 8 | UInt16(bytes[offset + 2]) == RecordType.opt.rawValue
    }

    private mutating func edns() throws(MessageParseError) -> EDNS {
        offset += 3
        let size = try uint16()
        let fields = try uint32()
        let end = offset + 2 + Int(try uint16())
        guard end <= bytes.count else { throw fault(.truncated) }
        var options: [EDNSOption] = []
        while offset < end {
            guard end - offset >= 4 else { throw fault(.optionLength) }
            let code = EDNSOption.Code(rawValue: try uint16())
            let length = Int(try uint16())
            guard end - offset >= length else { throw fault(.optionLength) }
            options.append(EDNSOption(code: code, data: Array(bytes[offset..<(offset + length)])))
            offset += length
        }
        return EDNS(
            udpPayloadSize: size, version: UInt8(truncatingIfNeeded: fields >> 16),
            extendedResponseCode: UInt8(truncatingIfNeeded: fields >> 24), dnssecOK: fields & 0x8000 != 0,
            options: options)
    }

    /// Parses a name, following compression pointers.
    ///
    /// Each pointer must point before the start of the labels in which it was found: then every step goes strictly
    /// backward and no loop is possible. Their number is bounded nevertheless: thousands of names that each follow
    /// thousands of pointers fit into one message, and would block the loop.
    mutating func name() throws(MessageParseError) -> Name {
        var wire: [UInt8] = []
        var at = offset
        var segmentStart = offset
        var afterFirstPointer: Int?
        var pointers = 0
        while true {
            guard at < bytes.count else { throw fault(.truncated) }
            let length = Int(bytes[at])
            switch length {
            case 0:
                wire.append(0)
                offset = afterFirstPointer ?? at + 1
                return Name(uncheckedWire: wire)
            case 1...Name.maximumLabelLength:
                guard bytes.count - at > length else { throw fault(.truncated) }
                guard wire.count + length + 2 <= Name.maximumLength else { throw fault(.nameTooLong) }
                wire += bytes[at...(at + length)]
                at += length + 1
            case 0xc0...0xff:
                guard bytes.count - at > 1 else { throw fault(.truncated) }
                let target = (length & 0x3f) << 8 | Int(bytes[at + 1])
                guard target >= Header.length, target < segmentStart else { throw fault(.forwardPointer) }
                pointers += 1
                // One to the first label, and one after every label.
                guard pointers <= 1 + Name.maximumLabels else { throw fault(.pointerChain) }
                afterFirstPointer = afterFirstPointer ?? at + 2
                segmentStart = target
                at = target
            default:
                throw fault(.labelType)
            }
        }
    }

    mutating func uint16() throws(MessageParseError) -> UInt16 {
        guard bytes.count - offset >= 2 else { throw fault(.truncated) }
        defer { offset += 2 }
        return UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])
    }

    mutating func uint32() throws(MessageParseError) -> UInt32 {
        UInt32(try uint16()) << 16 | UInt32(try uint16())
    }

    /// The next `count` bytes, which must end at or before `end`.
    mutating func take(_ count: Int, before end: Int) throws(MessageParseError) -> ArraySlice<UInt8> {
        guard count <= end - offset else { throw fault(.rdataLength) }
        defer { offset += count }
        return bytes[offset..<(offset + count)]
    }

    func fault(_ reason: MessageParseError.Reason) -> MessageParseError {
        MessageParseError(reason: reason, offset: offset)
    }
}
