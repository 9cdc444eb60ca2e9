import TestSupport

/// Conversion of names between text and wire form.
package enum TestName {
    /// Labels with their lengths, and the final zero. `\.`, `\\` and `\DDD` have the meaning of RFC 1035 section 5.1.
    package static func wire(_ text: String) -> [UInt8] {
        var labels: [[UInt8]] = [[]]
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "."): labels.append([])
            case UInt8(ascii: "\\"):
                let digits = bytes.prefix(3)
                if digits.count == 3, let value = UInt8(String(decoding: digits, as: UTF8.self)) {
                    labels[labels.count - 1].append(value)
                    bytes = bytes.dropFirst(3)
                } else if let next = bytes.popFirst() {
                    labels[labels.count - 1].append(next)
                }
            default: labels[labels.count - 1].append(byte)
            }
        }
        return labels.filter { !$0.isEmpty }.flatMap { [UInt8($0.count & 63)] + $0 } + [0]
    }

    /// The text form of a name in wire form, without pointers.
    package static func text(wire: [UInt8]) -> String {
        var labels: [[UInt8]] = []
        var rest = wire[...]
        while let length = rest.popFirst(), length > 0 {
            labels.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        return text(labels)
    }

    /// The text form of labels, with `\DDD` for what cannot be printed.
    package static func text(_ labels: [[UInt8]]) -> String {
        guard !labels.isEmpty else { return "." }
        return labels.map { label in
            label.map { byte in
                switch byte {
                case UInt8(ascii: "."), UInt8(ascii: "\\"): "\\" + String(UnicodeScalar(byte))
                case 0x21...0x7e: String(UnicodeScalar(byte))
                default: "\\" + String(repeating: "0", count: 3 - String(byte).count) + String(byte)
                }
            }.joined()
        }.joined(separator: ".")
    }
}

extension TestMessage {
    /// The message in wire form; owner names equal to the question's name are written as a pointer to it, except the
    /// root: that of an OPT record has to be a zero (RFC 6891 section 6.1.2).
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append16(id)
        bytes.append16(flags)
        for count in [questions.count, answers.count, authorities.count, additionals.count] {
            bytes.append16(UInt16(count))
        }
        for question in questions {
            bytes += TestName.wire(question.name)
            bytes.append16(question.type)
            bytes.append16(question.class)
        }
        for record in answers + authorities + additionals {
            let isPointer = record.name == questions.first?.name && record.name != "."
            bytes += isPointer ? [0xc0, 12] : TestName.wire(record.name)
            bytes.append16(record.type)
            bytes.append16(record.class)
            bytes.append32(record.ttl)
            bytes.append16(UInt16(record.data.count))
            bytes += record.data
        }
        return bytes
    }

    /// Reads a message, and refuses one with a wrong length or count, or with bytes left over.
    package init(decoding bytes: [UInt8]) throws {
        var reader = Reader(bytes: bytes)
        self.init(id: try reader.read16(), flags: try reader.read16())
        byteCount = bytes.count
        let counts = try (0..<4).map { _ in Int(try reader.read16()) }
        for _ in 0..<counts[0] {
            questions.append(Question(try reader.name(), try reader.read16(), class: try reader.read16()))
        }
        questionBytes = Array(bytes[12..<reader.position])
        for _ in 0..<counts[1] { answers.append(try reader.record()) }
        for _ in 0..<counts[2] { authorities.append(try reader.record()) }
        for _ in 0..<counts[3] { additionals.append(try reader.record()) }
        guard reader.position == bytes.count else {
            throw TestFailure("\(bytes.count - reader.position) bytes after the message")
        }
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0
        /// Names that a pointer led to, by their place.
        private var known: [Int: String] = [:]

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func read8() throws -> UInt8 {
            guard position < bytes.count else { throw TestFailure("the message ends early") }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func read16() throws -> UInt16 { UInt16(try read8()) << 8 | UInt16(try read8()) }

        mutating func read32() throws -> UInt32 { UInt32(try read16()) << 16 | UInt32(try read16()) }

        mutating func read(_ count: Int) throws -> [UInt8] {
            guard bytes.count - position >= count else { throw TestFailure("the message ends early") }
            defer { position += count }
            return Array(bytes[position..<position + count])
        }

        /// Where the pointer at this place leads; nil: there is none.
        private var pointer: Int? {
            guard position + 1 < bytes.count, bytes[position] >= 0xc0 else { return nil }
            return Int(bytes[position] & 0x3f) << 8 | Int(bytes[position + 1])
        }

        mutating func name() throws -> String {
            var labels: [[UInt8]] = []
            var end: Int?
            var jumps = 0
            let start = pointer
            if let start, let name = known[start] {
                position += 2
                return name
            }
            while true {
                let length = try read8()
                switch length {
                case 0:
                    if let end { position = end }
                    let name = TestName.text(labels)
                    if let start { known[start] = name }
                    return name
                case 1...63: labels.append(try read(Int(length)))
                case 0xc0...:
                    let target = Int(length & 0x3f) << 8 | Int(try read8())
                    if end == nil { end = position }
                    jumps += 1
                    guard target < bytes.count, jumps < 64 else { throw TestFailure("a bad pointer") }
                    position = target
                default: throw TestFailure("a bad label length \(length)")
                }
            }
        }

        mutating func record() throws -> Record {
            let name = try name()
            let (type, `class`) = (try read16(), try read16())
            let (ttl, length) = (try read32(), Int(try read16()))
            let end = position + length
            var data: [UInt8]
            switch type {
            case TestRecordType.ns, TestRecordType.cname, TestRecordType.ptr: data = TestName.wire(try self.name())
            case TestRecordType.soa:
                data = TestName.wire(try self.name())
                data += TestName.wire(try self.name())
                data += try read(20)
            case TestRecordType.mx:
                data = try read(2)
                data += TestName.wire(try self.name())
            default: data = try read(length)
            }
            guard position == end else { throw TestFailure("rdata of type \(type) is not as long as it says") }
            return Record(name, type, class: `class`, ttl: ttl, data: data)
        }
    }
}
