extension Name: CustomStringConvertible {
    /// Master-file text without the final dot (the root is `.`): dots and backslashes in labels are escaped with a
    /// backslash, bytes that do not print as `\DDD` (RFC 1035 section 5.1).
    @usableFromInline package var description: String {
        if isRoot { return "." }
        var text = ""
        for label in labels {
            if !text.isEmpty { text += "." }
            for byte in label { text += Self.escaped(byte) }
        }
        return text
    }

    private static func escaped(_ byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: ";"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "@"), UInt8(ascii: "$"):
            return "\\" + String(UnicodeScalar(byte))
        case 0x21...0x7e:
            return String(UnicodeScalar(byte))
        default:
            let digits = String(byte)
            return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
        }
    }

    /// Reads master-file text, with or without the final dot; `.` and the empty text are the root.
    package init(_ text: some StringProtocol) throws(NameError) {
        var wire: [UInt8] = []
        var label: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        if bytes.elementsEqual([UInt8(ascii: ".")]) { bytes = [] }
        let dot = UInt8(ascii: ".")
        while let byte = bytes.popFirst() {
            if byte == dot {
                try Self.close(&label, into: &wire)
            } else if byte == UInt8(ascii: "\\") {
                label.append(try Self.unescape(&bytes))
            } else {
                label.append(byte)
            }
        }
        if !label.isEmpty { try Self.close(&label, into: &wire) }
        wire.append(0)
        guard wire.count <= Self.maximumLength else { throw .tooLong }
        self.init(uncheckedWire: wire)
    }

    private static func close(_ label: inout [UInt8], into wire: inout [UInt8]) throws(NameError) {
        guard !label.isEmpty else { throw .emptyLabel }
        guard label.count <= maximumLabelLength else { throw .labelTooLong }
        wire.append(UInt8(label.count))
        wire += label
        label.removeAll(keepingCapacity: true)
        guard wire.count < maximumLength else { throw .tooLong }
    }

    private static func unescape(_ bytes: inout ArraySlice<UInt8>) throws(NameError) -> UInt8 {
        guard let first = bytes.popFirst() else { throw .badEscape }
        guard isDigit(first) else { return first }
        guard let second = bytes.popFirst(), let third = bytes.popFirst(), isDigit(second), isDigit(third) else {
            throw .badEscape
        }
        let value = [first, second, third].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard value <= 255 else { throw .badEscape }
        return UInt8(value)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
