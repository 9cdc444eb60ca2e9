/// Writes a message, compressing names (RFC 1035 section 4.1.4).
package struct MessageBuilder {
    /// The most bytes of any message (RFC 1035 section 4.2.2).
    package static let maximumLength = 65_535

    package private(set) var bytes: [UInt8]
    /// Where the TTL of each record, OPT excepted, begins, in bytes from the end of the questions. In a message that is too
    /// long to be sent they are cut to 16 bits.
    package private(set) var ttlOffsets: [UInt16] = []
    /// Where the questions end.
    private var questionsEnd = Header.length
    /// Bytes of the name right behind the header; mostly it is the only one, so what follows is filled only when another one
    /// comes. 0: there is none.
    private var firstNameLength = 0
    /// Where names already written begin, by their lower-cased wire form.
    private var nameOffsets: [ArraySlice<UInt8>: Int] = [:]

    /// Begins a message with its header; the four counts are kept up to date by what is appended.
    package init(id: UInt16, flags: HeaderFlags) {
        bytes = []
        bytes.reserveCapacity(512)
        append(id)
        append(flags.rawValue)
        bytes += [0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// A section of records, by the offset of its count in the header.
    package enum Section: Int {
        case answer = 6
        case authority = 8
        case additional = 10
    }

    package mutating func append(_ question: Question) {
        append(question.name)
        append(question.type.rawValue)
        append(question.class.rawValue)
        increment(at: 4)
        questionsEnd = bytes.count
    }

    package mutating func append(_ record: Record, to section: Section) {
        append(record.name)
        append(record.type.rawValue)
        append(record.class.rawValue)
        ttlOffsets.append(UInt16(truncatingIfNeeded: bytes.count - questionsEnd))
        append(record.ttl)
        appendRdata(of: record)
        increment(at: section.rawValue)
    }

    /// Appends an OPT record to the additional section, in which it must be the last.
    package mutating func append(_ edns: EDNS) {
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

    private mutating func appendRdata(of record: Record) {
        let lengthOffset = bytes.count
        append(UInt16(0))
        if RecordDataField.compressesNames(of: record.type), let names = leadingNames(of: record) {
            bytes += record.rdata[..<names.start]
            for name in names.names { append(name) }
            bytes += record.rdata[names.end...]
        } else {
            bytes += record.rdata
        }
        let length = bytes.count - lengthOffset - 2
        bytes[lengthOffset] = UInt8(truncatingIfNeeded: length >> 8)
        bytes[lengthOffset + 1] = UInt8(truncatingIfNeeded: length)
    }

    /// The names in the rdata of an RFC 1035 type, and the bytes that they take; nil when the rdata is not of its type.
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
        if bytes.count == Header.length {
            firstNameLength = name.wire.count
            bytes += name.wire
            return
        }
        if firstNameLength > 0 {
            if isFirst(name) { return append(UInt16(0xc000 | Header.length)) }
            if nameOffsets.isEmpty { noteFirstName() }
        }
        let lower = name.lowercased.wire
        var at = 0
        while lower[at] != 0 {
            if let target = nameOffsets[lower[at...]] { return append(UInt16(0xc000 | target)) }
            // A pointer has 14 bits.
            if bytes.count < 0x4000 { nameOffsets[lower[at...]] = bytes.count }
            let end = at + 1 + Int(lower[at])
            bytes += name.wire[at..<end]
            at = end
        }
        bytes.append(0)
    }

    /// Whether it is the name right behind the header, compared without regard to case.
    private func isFirst(_ name: Name) -> Bool {
        guard name.wire.count == firstNameLength else { return false }
        for index in 0..<firstNameLength {
            let (one, other) = (name.wire[index], bytes[Header.length + index])
            if one != other, asciiLowercased(one) != asciiLowercased(other) { return false }
        }
        return true
    }

    /// Notes where the first name and each of its parents begin.
    private mutating func noteFirstName() {
        let lower = bytes[Header.length..<(Header.length + firstNameLength)].map(asciiLowercased)
        var at = 0
        while lower[at] != 0 {
            nameOffsets[lower[at...]] = Header.length + at
            at += 1 + Int(lower[at])
        }
    }

    private mutating func append(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    private mutating func append(_ value: UInt32) {
        append(UInt16(truncatingIfNeeded: value >> 16))
        append(UInt16(truncatingIfNeeded: value))
    }

    private mutating func increment(at offset: Int) {
        bytes[offset + 1] &+= 1
        if bytes[offset + 1] == 0 { bytes[offset] &+= 1 }
    }
}

extension Message {
    /// The message's bytes, names compressed; longer than 65,535 only if its records are.
    package var encoded: [UInt8] {
        var builder = MessageBuilder(id: id, flags: flags)
        for question in questions { builder.append(question) }
        for record in answers { builder.append(record, to: .answer) }
        for record in authorities { builder.append(record, to: .authority) }
        for record in additionals { builder.append(record, to: .additional) }
        if let edns { builder.append(edns) }
        return builder.bytes
    }
}
