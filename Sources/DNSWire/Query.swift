/// A client's query, read without allocation: what the reply and the look-up need, and nothing else.
///
/// The question stays where it is, at byte 12 of the message, to be echoed bit for bit.
@frozen
package struct Query: Sendable {
    package var id: UInt16 = 0
    package var flags: HeaderFlags = []
    /// NOERROR, or the RCODE with which the query must be turned away: FORMERR, NOTIMP or BADVERS.
    package var fault: ResponseCode = .noError
    /// Bytes of the question, name and four; 0 when it cannot be read and hence not be echoed.
    package var questionLength = 0
    package var type = RecordType(rawValue: 0)
    package var `class` = RecordClass(rawValue: 0)
    /// Whether the query has an OPT record, and the reply therefore gets one.
    package var hasEDNS = false
    /// The client's UDP payload size in bytes, at least 512; 512 without EDNS.
    package var udpPayloadSize = EDNS.minimumPayloadSize
    package var dnssecOK = false
    /// Whether the client sent the edns-tcp-keepalive option (RFC 7828).
    package var hasKeepalive = false

    package init() {}

    /// Bytes of QNAME.
    package var nameLength: Int { questionLength &- 4 }

    package var checkingDisabled: Bool { flags.contains(.checkingDisabled) }

    /// Reads a message, and fills `key` when there is no fault.
    ///
    /// - Returns: nil for what must not be answered: under 12 bytes, or a response.
    package static func read(_ message: borrowing Span<UInt8>, key: inout QueryKey) -> Query? {
        guard message.count >= Header.length, message[2] & 0x80 == 0 else { return nil }
        var query = Query()
        query.id = uint16(message, at: 0)
        query.flags = HeaderFlags(rawValue: uint16(message, at: 2))
        key.removeAll()
        let hasOneQuestion = message[4] == 0 && message[5] == 1
        if query.flags.opcode != 0 || !hasOneQuestion {
            // What can be read is read, so that the question is echoed and an OPT record answered with one.
            let hasNone = message[4] == 0 && message[5] == 0
            if hasOneQuestion ? query.readQuestion(message, key: &key) : hasNone { _ = query.readRecords(message) }
            query.fault = query.flags.opcode != 0 ? .notImplemented : .formatError
        } else if !query.readQuestion(message, key: &key) || !query.readRecords(message) {
            query.fault = .formatError
        }
        if query.fault == .noError {
            key.finish(
                type: query.type, class: query.class, dnssecOK: query.dnssecOK,
                checkingDisabled: query.checkingDisabled)
        }
        return query
    }

    /// Reads the only question. Nothing stands before it that a compression pointer could mean, so there is none.
    mutating func readQuestion(_ message: borrowing Span<UInt8>, key: inout QueryKey) -> Bool {
        var at = Header.length
        while true {
            guard at < message.count else { return false }
            let label = Int(message[at])
            at &+= 1
            if label == 0 { break }
            at &+= label
            guard label <= Name.maximumLabelLength, at &- Header.length < Name.maximumLength else { return false }
        }
        guard message.count &- at >= 4 else { return false }
        key.setName(message.extracting(Header.length..<at))
        type = RecordType(rawValue: Self.uint16(message, at: at))
        `class` = RecordClass(rawValue: Self.uint16(message, at: at &+ 2))
        questionLength = at &+ 4 &- Header.length
        return true
    }

    /// Walks the other sections for the OPT record; everything else in them is passed over.
    mutating func readRecords(_ message: borrowing Span<UInt8>) -> Bool {
        let before = Int(Self.uint16(message, at: 6)) + Int(Self.uint16(message, at: 8))
        let additional = Int(Self.uint16(message, at: 10))
        if before + additional == 0 { return true }
        var at = Header.length + questionLength
        for index in 0..<(before + additional) {
            let start = at
            guard Self.skipName(message, at: &at), message.count - at >= 10 else { return false }
            let dataLength = Int(Self.uint16(message, at: at + 8))
            guard message.count - at - 10 >= dataLength else { return false }
            if Self.uint16(message, at: at) == RecordType.opt.rawValue {
                guard index >= before, !hasEDNS, message[start] == 0 else { return false }
                guard readOPT(message, at: at, dataLength: dataLength) else { return false }
            }
            at += 10 + dataLength
        }
        return true
    }

    /// Reads the OPT record whose TYPE field is at `at`.
    mutating func readOPT(_ message: borrowing Span<UInt8>, at: Int, dataLength: Int) -> Bool {
        hasEDNS = true
        udpPayloadSize = max(EDNS.minimumPayloadSize, Int(Self.uint16(message, at: at + 2)))
        dnssecOK = message[at + 6] & 0x80 != 0
        // A higher version may have other options: they are not read then (RFC 6891 section 6.1.3).
        guard message[at + 5] == 0 else {
            fault = .badVersion
            return true
        }
        var option = at + 10
        let end = option + dataLength
        while option < end {
            guard end - option >= 4 else { return false }
            let code = Self.uint16(message, at: option)
            let length = Int(Self.uint16(message, at: option + 2))
            option += 4
            guard end - option >= length else { return false }
            // A cookie is 8 bytes, or 8 and a server's 8 to 32 (RFC 7873 section 5.2.2).
            if code == 10, length != 8, !(16...40).contains(length) { return false }
            if code == 11 { hasKeepalive = true }
            option += length
        }
        return true
    }

    /// Passes over a name, plain or compressed.
    static func skipName(_ message: borrowing Span<UInt8>, at: inout Int) -> Bool {
        while at < message.count {
            let length = Int(message[at])
            if length == 0 {
                at += 1
                return true
            }
            if length >= 0xc0 {
                at += 2
                return at <= message.count
            }
            guard length <= Name.maximumLabelLength else { return false }
            at += 1 + length
        }
        return false
    }

    static func uint16(_ message: borrowing Span<UInt8>, at offset: Int) -> UInt16 {
        UInt16(message[offset]) << 8 | UInt16(message[offset &+ 1])
    }
}
