extension Name: CustomStringConvertible {
    /// Master-file text without the final dot (the root is `.`): dots and backslashes in labels are escaped with a
    /// backslash, non-printable bytes as `\DDD` (RFC 1035 section 5.1).
    public var description: String {
        if isRoot { return "." }
        var text: [UInt8] = []
        text.reserveCapacity(wire.count)
        var at = 0
        while wire[at] != 0 {
            let end = at + 1 + Int(wire[at])
            if at > 0 { text.append(UInt8(ascii: ".")) }
            for byte in wire[(at + 1)..<end] {
                if Self.isPlain(byte) { text.append(byte) } else { Self.escape(byte, into: &text) }
            }
            at = end
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether a byte needs no escape: letters, digits, hyphen and underscore.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func escape(_ byte: UInt8, into text: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: ";"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "@"), UInt8(ascii: "$"):
            text.append(UInt8(ascii: "\\"))
            text.append(byte)
        case 0x21...0x7e:
            text.append(byte)
        default:
            text.append(UInt8(ascii: "\\"))
            for digit in [byte / 100, byte / 10 % 10, byte % 10] { text.append(UInt8(ascii: "0") + digit) }
        }
    }

    /// Parses master-file text, with or without the final dot; `.` and the empty text are the root.
    public init(_ text: some StringProtocol) throws(NameError) { try self.init(text: Array(text.utf8)) }

    private init(text: [UInt8]) throws(NameError) {
        var wire: [UInt8] = []
        wire.reserveCapacity(min(text.count, Self.maximumLength) + 2)
        // The length of the current label, filled in at its end. The last one stays: the root's.
        var start = 0
        wire.append(0)
        var at = text == [UInt8(ascii: ".")] ? 1 : 0
        while at < text.count {
            var byte = text[at]
            at += 1
            if byte == UInt8(ascii: ".") {
                try Self.closeLabel(from: &start, in: &wire)
                continue
            }
            if byte == UInt8(ascii: "\\") { byte = try Self.unescape(text, at: &at) }
            wire.append(byte)
        }
        if wire.count > start + 1 { try Self.closeLabel(from: &start, in: &wire) }
        guard wire.count <= Self.maximumLength else { throw .tooLong }
        self.init(uncheckedWire: wire)
    }

    /// Fills in the length of the label at `start`, and begins another one.
    private static func closeLabel(from start: inout Int, in wire: inout [UInt8]) throws(NameError) {
        let length = wire.count - start - 1
        guard length > 0 else { throw .emptyLabel }
        guard length <= maximumLabelLength else { throw .labelTooLong }
        guard wire.count < maximumLength else { throw .tooLong }
        wire[start] = UInt8(length)
        start = wire.count
        wire.append(0)
    }

    /// The escaped byte after a backslash; `at` then points after it.
    private static func unescape(_ text: [UInt8], at: inout Int) throws(NameError) -> UInt8 {
        guard at < text.count else { throw .badEscape }
        guard isDigit(text[at]) else {
            at += 1
            return text[at - 1]
        }
        guard at + 2 < text.count, isDigit(text[at + 1]), isDigit(text[at + 2]) else { throw .badEscape }
        var value = 0
        for index in at...(at + 2) { value = value * 10 + Int(text[index] - UInt8(ascii: "0")) }
        guard value <= 255 else { throw .badEscape }
        at += 3
        return UInt8(value)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
