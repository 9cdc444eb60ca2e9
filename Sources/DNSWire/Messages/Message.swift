/// One parsed DNS message: for responses of upstreams and for synthesized responses.
///
/// A client's query is parsed by `Query`, which does not allocate.
public struct Message: Hashable, Sendable {
    public var id: UInt16
    public var flags: HeaderFlags
    public var questions: [Question]
    public var answers: [Record]
    public var authorities: [Record]
    /// The additional section without its OPT record.
    public var additionals: [Record]
    public var edns: EDNS?

    public init(
        id: UInt16 = 0, flags: HeaderFlags = [], questions: [Question] = [], answers: [Record] = [],
        authorities: [Record] = [], additionals: [Record] = [], edns: EDNS? = nil
    ) {
        self.id = id
        self.flags = flags
        self.questions = questions
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
        self.edns = edns
    }

    /// The whole response code, with the OPT record's upper bits.
    public var responseCode: ResponseCode {
        ResponseCode(rawValue: UInt16(edns?.extendedResponseCode ?? 0) << 4 | flags.responseCode.rawValue)
    }
}

/// QNAME, QTYPE and QCLASS (RFC 1035 section 4.1.2).
public struct Question: Hashable, Sendable {
    /// With the letter case of the query; compared case-insensitively.
    public var name: Name
    public var type: RecordType
    public var `class`: RecordClass

    public init(name: Name, type: RecordType, class: RecordClass = .internet) {
        self.name = name
        self.type = type
        self.class = `class`
    }
}

extension Question: CustomStringConvertible {
    public var description: String { "\(name) \(type)" }
}

/// Writes a message with compressed names (RFC 1035 section 4.1.4).
public struct MessageBuilder {
    /// The greatest length in bytes of any message (RFC 1035 section 4.2.2).
    public static let maximumLength = 65_535

    /// The bytes written: the message, or what follows its question.
    public private(set) var bytes: [UInt8] = []
    /// Offset in the message at which `bytes` begin: 0, or after the question.
    private let start: Int
    /// The name directly after the header. Mostly it is the only one, so `nameOffsets` is filled only when another one
    /// is appended. Nil: there is none, or it is the root, which is not compressed.
    private var firstName: Name?
    /// Offsets in the message of the names already written, by their lower-cased wire form.
    private var nameOffsets: [ArraySlice<UInt8>: Int] = [:]

    /// Begins a message with its header; the four counts are updated as records are appended.
    public init(id: UInt16, flags: HeaderFlags) {
        start = 0
        bytes.reserveCapacity(512)
        append(id)
        append(flags.rawValue)
        bytes += [0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// Begins after header and the only question of a message, which are not written: for about so many records that are
    /// stored without them.
    public init(behind question: Question, recordCount: Int) {
        start = Header.length + question.name.wire.count + 4
        firstName = question.name.isRoot ? nil : question.name
        // Most are addresses of QNAME: an AAAA record of it takes 28 bytes.
        bytes.reserveCapacity(recordCount * 28)
    }

    /// Length in bytes of the message so far.
    public var length: Int { start + bytes.count }

    /// A section of records; the value is the offset of its count in the header.
    public enum Section: Int {
        case answer = 6
        case authority = 8
        case additional = 10
    }

    public mutating func append(_ question: Question) {
        append(question.name)
        append(question.type.rawValue)
        append(question.class.rawValue)
        increment(at: 4)
    }

    public mutating func append(_ record: Record, to section: Section) {
        append(record.name)
        if RecordDataField.compressesNames(of: record.type), let names = leadingNames(of: record) {
            let data = record.rdata
            appendFields(of: record, .bytes([]))
            let dataStart = bytes.count
            bytes += data[..<names.start]
            for name in names.names { append(name) }
            bytes += data[names.end...]
            let dataLength = bytes.count - dataStart
            bytes[dataStart - 2] = UInt8(truncatingIfNeeded: dataLength >> 8)
            bytes[dataStart - 1] = UInt8(truncatingIfNeeded: dataLength)
        } else {
            appendFields(of: record, record.data)
        }
        increment(at: section.rawValue)
    }

    /// Appends the fields after a record's owner, in one go.
    private mutating func appendFields(of record: Record, _ data: Record.Data) {
        bytes.append(addingCapacity: 10 + data.count) { output in
            output.append(record.type.rawValue)
            output.append(record.class.rawValue)
            output.append(record.ttl)
            output.append(UInt16(truncatingIfNeeded: data.count))
            switch data {
            case .address(.v4(let value)): output.append(value)
            case .address(.v6(let value)):
                for word in 1...4 { output.append(UInt32(truncatingIfNeeded: value >> (128 - 32 * word))) }
            case .bytes(let bytes): for byte in bytes { output.append(byte) }
            }
        }
    }

    /// Appends an OPT record to the additional section, in which it must be the last.
    public mutating func append(_ edns: EDNS) {
        bytes.append(0)
        append(RecordType.opt.rawValue)
        append(edns.udpPayloadSize)
        bytes += [edns.extendedResponseCode, edns.version, edns.dnssecOK ? 0x80 : 0, 0]
        append(UInt16(truncatingIfNeeded: edns.options.reduce(0) { $0 + 4 + $1.data.count }))
        for option in edns.options {
            append(option.code.rawValue)
            append(UInt16(truncatingIfNeeded: option.data.count))
            bytes += option.data
        }
        increment(at: Section.additional.rawValue)
    }

    /// The names in the rdata of an RFC 1035 type, and the range of bytes that they take; nil when the rdata is
    /// invalid.
    private func leadingNames(of record: Record) -> (names: [Name], start: Int, end: Int)? {
        var names: [Name] = []
        var start = 0
        var at = 0
        for field in RecordDataField.fields(of: record.type) {
            switch field {
            case .bytes(let count):
                if names.isEmpty { start = count }
                at = names.isEmpty ? count : at
            case .name:
                var end = at
                while end < record.rdata.count, record.rdata[end] != 0 { end += 1 + Int(record.rdata[end]) }
                guard end < record.rdata.count, let name = try? Name(wire: Array(record.rdata[at...end])) else {
                    return nil
                }
                names.append(name)
                at = end + 1
            case .string, .rest:
                return nil
            }
        }
        return (names, start, at)
    }

    private mutating func append(_ name: Name) {
        guard !name.isRoot else { return bytes.append(0) }
        if length == Header.length {
            firstName = name
            bytes += name.wire
            return
        }
        if let firstName {
            if name == firstName { return append(UInt16(0xc000 | Header.length)) }
            if nameOffsets.isEmpty { note(firstName, at: Header.length) }
        }
        let lower = name.lowercased.wire
        var at = 0
        while lower[at] != 0 {
            if let target = nameOffsets[lower[at...]] { return append(UInt16(0xc000 | target)) }
            // A compression pointer has 14 bits.
            if length < 0x4000 { nameOffsets[lower[at...]] = length }
            let end = at + 1 + Int(lower[at])
            bytes += name.wire[at..<end]
            at = end
        }
        bytes.append(0)
    }

    /// Stores the offsets of a name and of each of its parents.
    private mutating func note(_ name: Name, at place: Int) {
        let lower = name.lowercased.wire
        var at = 0
        while lower[at] != 0 {
            nameOffsets[lower[at...]] = place + at
            at += 1 + Int(lower[at])
        }
    }

    private mutating func append(_ value: UInt16) { bytes.append(addingCapacity: 2) { $0.append(value) } }

    /// Increments the count of a section, where there is a header.
    private mutating func increment(at offset: Int) {
        guard start == 0 else { return }
        bytes[offset + 1] &+= 1
        if bytes[offset + 1] == 0 { bytes[offset] &+= 1 }
    }
}

extension OutputSpan<UInt8> {
    /// Appends a number in network byte order.
    fileprivate mutating func append(_ value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    /// Appends a number in network byte order.
    fileprivate mutating func append(_ value: UInt32) {
        append(UInt16(truncatingIfNeeded: value >> 16))
        append(UInt16(truncatingIfNeeded: value))
    }
}

extension Message {
    /// The message's bytes, with compressed names; longer than 65,535 only if its records are.
    public var encoded: [UInt8] {
        var builder = MessageBuilder(id: id, flags: flags)
        for question in questions { builder.append(question) }
        for record in answers { builder.append(record, to: .answer) }
        for record in authorities { builder.append(record, to: .authority) }
        for record in additionals { builder.append(record, to: .additional) }
        if let edns { builder.append(edns) }
        return builder.bytes
    }
}
