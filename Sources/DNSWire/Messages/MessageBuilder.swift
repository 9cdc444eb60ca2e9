/// Writes a message, compressing names (RFC 1035 section 4.1.4).
package struct MessageBuilder {
    /// The most bytes of any message (RFC 1035 section 4.2.2).
    package static let maximumLength = 65_535

    /// What is written: the message, or what follows its question.
    package private(set) var bytes: [UInt8] = []
    /// Where the TTL of each record, OPT excepted, begins, in bytes from the end of the questions. In a message that is too
    /// long to be sent they are cut to 16 bits.
    package private(set) var ttlOffsets: [UInt16] = []
    /// Where in the message `bytes` begin: 0, or behind the question.
    private let start: Int
    /// Where in the message the questions end.
    private var questionsEnd: Int
    /// The name right behind the header; mostly it is the only one, so what follows is filled only when another one comes. Nil:
    /// there is none, or it is the root, to which nothing points.
    private var firstName: Name?
    /// Where in the message names already written begin, by their lower-cased wire form.
    private var nameOffsets: [ArraySlice<UInt8>: Int] = [:]

    /// Begins a message with its header; the four counts are kept up to date by what is appended.
    package init(id: UInt16, flags: HeaderFlags) {
        start = 0
        questionsEnd = Header.length
        bytes.reserveCapacity(512)
        append(id)
        append(flags.rawValue)
        bytes += [0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// Begins behind header and question of a message, which are not written: for records that are kept by themselves.
    ///
    /// - Parameters:
    ///   - question: the only one.
    ///   - recordCount: how many records will be appended, as far as is known.
    package init(behind question: Question, recordCount: Int) {
        start = Header.length + question.name.wire.count + 4
        questionsEnd = start
        firstName = question.name.isRoot ? nil : question.name
        // Most are addresses of the name asked for: an AAAA record of it takes 28 bytes.
        bytes.reserveCapacity(recordCount * 28)
        ttlOffsets.reserveCapacity(recordCount)
    }

    /// Bytes of the message so far.
    package var length: Int { start + bytes.count }

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
        questionsEnd = length
    }

    package mutating func append(_ record: Record, to section: Section) {
        append(record.name)
        ttlOffsets.append(UInt16(truncatingIfNeeded: length + 4 - questionsEnd))
        if RecordDataField.compressesNames(of: record.type), let names = leadingNames(of: record) {
            appendFields(of: record, data: [])
            let dataStart = bytes.count
            bytes += record.rdata[..<names.start]
            for name in names.names { append(name) }
            bytes += record.rdata[names.end...]
            let dataLength = bytes.count - dataStart
            bytes[dataStart - 2] = UInt8(truncatingIfNeeded: dataLength >> 8)
            bytes[dataStart - 1] = UInt8(truncatingIfNeeded: dataLength)
        } else {
            appendFields(of: record, data: record.rdata)
        }
        increment(at: section.rawValue)
    }

    /// Appends what follows a record's owner, in one go.
    private mutating func appendFields(of record: Record, data: [UInt8]) {
        bytes.append(addingCapacity: 10 + data.count) { output in
            output.append(record.type.rawValue)
            output.append(record.class.rawValue)
            output.append(record.ttl)
            output.append(UInt16(truncatingIfNeeded: data.count))
            for byte in data { output.append(byte) }
        }
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
            // A pointer has 14 bits.
            if length < 0x4000 { nameOffsets[lower[at...]] = length }
            let end = at + 1 + Int(lower[at])
            bytes += name.wire[at..<end]
            at = end
        }
        bytes.append(0)
    }

    /// Notes where a name and each of its parents begin.
    private mutating func note(_ name: Name, at place: Int) {
        let lower = name.lowercased.wire
        var at = 0
        while lower[at] != 0 {
            nameOffsets[lower[at...]] = place + at
            at += 1 + Int(lower[at])
        }
    }

    private mutating func append(_ value: UInt16) { bytes.append(addingCapacity: 2) { $0.append(value) } }

    /// Counts a record, or a question, where there is a header.
    private mutating func increment(at offset: Int) {
        guard start == 0 else { return }
        bytes[offset + 1] &+= 1
        if bytes[offset + 1] == 0 { bytes[offset] &+= 1 }
    }
}

extension OutputSpan<UInt8> {
    /// In network byte order.
    fileprivate mutating func append(_ value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    /// In network byte order.
    fileprivate mutating func append(_ value: UInt32) {
        append(UInt16(truncatingIfNeeded: value >> 16))
        append(UInt16(truncatingIfNeeded: value))
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
