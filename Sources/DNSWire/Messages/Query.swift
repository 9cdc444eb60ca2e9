/// A client's query, parsed without allocation: only what the response and the look-up need.
///
/// The question stays at byte 12 of the message, to be copied to the response unchanged.
public struct Query: Sendable {
    public var id: UInt16 = 0
    public var flags: HeaderFlags = []
    /// NOERROR, or the RCODE with which the query must be answered: FORMERR, NOTIMP or BADVERS; BADCOOKIE where it has no
    /// question and asks for a server's cookie alone (RFC 7873 section 5.4).
    public var fault: ResponseCode = .noError
    /// Bytes of the question, name and four; 0 when it cannot be parsed and so not be copied to the response.
    public var questionLength = 0
    public var type = RecordType(rawValue: 0)
    public var `class` = RecordClass(rawValue: 0)
    /// Whether the query has an OPT record, and the response therefore gets one.
    public var hasEDNS = false
    /// The client's UDP payload size in bytes, at least 512; 512 without EDNS.
    public var udpPayloadSize = EDNS.minimumPayloadSize
    public var dnssecOK = false
    /// Where the options of the OPT record stand in the message; empty without EDNS.
    var options = 0..<0
    /// Whether the client sent the edns-tcp-keepalive option (RFC 7828).
    public var hasKeepalive = false
    /// Whether the client sent a cookie (RFC 7873).
    public var hasCookie = false

    public init() {}

    /// Length of QNAME in bytes.
    public var nameLength: Int { questionLength &- 4 }

    /// The range of QNAME in the message.
    public var nameRange: Range<Int> { Header.length..<(Header.length &+ nameLength) }

    public var checkingDisabled: Bool { flags.contains(.checkingDisabled) }

    /// The longest response over UDP, in bytes: the client's UDP payload size, but no more than 1,232.
    public var udpLimit: Int { min(udpPayloadSize, EDNS.defaultPayloadSize) }

    /// Parses a message; nil for one that must not be answered: under 12 bytes, or a response.
    public static func read(_ message: borrowing Span<UInt8>) -> Query? {
        var query = Query()
        return query.read(message) ? query : nil
    }

    /// Parses a message, and replaces all fields. Returns false for one that must not be answered: under 12 bytes, a
    /// response.
    @inline(__always)
    public mutating func read(_ message: borrowing Span<UInt8>) -> Bool {
        guard message.count >= Header.length, message[2] & 0x80 == 0 else { return false }
        self = Query()
        id = Self.uint16(message, at: 0)
        flags = HeaderFlags(rawValue: Self.uint16(message, at: 2))
        if flags.opcode != 0 || Self.uint16(message, at: 4) != 1 {
            readUnusual(message)
        } else if !readQuestion(message) || !readRecords(message) {
            fault = .formatError
        }
        return true
    }

    /// Parses as much as possible of a message that must be answered with an error, so that the response has its
    /// question, and an OPT record if the query has one.
    @inline(never)
    mutating func readUnusual(_ message: borrowing Span<UInt8>) {
        let questions = Self.uint16(message, at: 4)
        let isRead = (questions == 1 ? readQuestion(message) : questions == 0) && readRecords(message)
        fault =
            flags.opcode != 0 ? .notImplemented : isRead && questions == 0 && hasCookie ? .badCookie : .formatError
    }

    /// Parses the only question. Nothing before it could be the target of a compression pointer, so it has none.
    @inline(__always)
    mutating func readQuestion(_ message: borrowing Span<UInt8>) -> Bool {
        // A name has at most 255 bytes, and four bytes follow it.
        let end = min(message.count &- 4, Header.length &+ Name.maximumLength)
        var at = Header.length
        while true {
            guard at < end else { return false }
            let label = Int(message[at])
            at &+= 1
            if label == 0 { break }
            guard label <= Name.maximumLabelLength else { return false }
            at &+= label
        }
        type = RecordType(rawValue: Self.uint16(message, at: at))
        `class` = RecordClass(rawValue: Self.uint16(message, at: at &+ 2))
        questionLength = at &+ 4 &- Header.length
        return true
    }

    /// Parses the other sections, of which only the OPT record matters. Mostly they are empty.
    @inline(__always)
    mutating func readRecords(_ message: borrowing Span<UInt8>) -> Bool {
        message[6] | message[7] | message[8] | message[9] | message[10] | message[11] == 0 || walkRecords(message)
    }

    /// Searches the other sections for the OPT record; skips everything else in them.
    mutating func walkRecords(_ message: borrowing Span<UInt8>) -> Bool {
        let before = Int(Self.uint16(message, at: 6)) &+ Int(Self.uint16(message, at: 8))
        let all = before &+ Int(Self.uint16(message, at: 10))
        var at = Header.length &+ questionLength
        for index in 0..<all {
            let start = at
            guard let record = Self.takeRecord(message, at: &at) else { return false }
            guard record.type == .opt else { continue }
            guard index >= before, !hasEDNS, message[start] == 0,
                readOPT(message, at: record.place, dataLength: record.dataLength)
            else { return false }
        }
        return true
    }

    /// Parses the OPT record whose TYPE field is at `at`.
    @inline(__always)
    private mutating func readOPT(_ message: borrowing Span<UInt8>, at: Int, dataLength: Int) -> Bool {
        hasEDNS = true
        udpPayloadSize = max(EDNS.minimumPayloadSize, Int(Self.uint16(message, at: at &+ 2)))
        dnssecOK = message[at &+ 6] & 0x80 != 0
        options = (at &+ 10)..<(at &+ 10 &+ dataLength)
        // A higher version may have other options: they are not parsed then (RFC 6891 section 6.1.3).
        guard message[at &+ 5] == 0 else {
            fault = .badVersion
            return true
        }
        var option = options.lowerBound
        let end = options.upperBound
        while option < end {
            guard end &- option >= 4 else { return false }
            let code = Self.uint16(message, at: option)
            let length = Int(Self.uint16(message, at: option &+ 2))
            option &+= 4
            guard end &- option >= length else { return false }
            // A cookie is 8 bytes, or 8 and a server's 8 to 32 (RFC 7873 section 5.2.2).
            if code == EDNSOption.Code.cookie.rawValue {
                guard length == 8 || (16...40).contains(length) else { return false }
                hasCookie = true
            }
            if code == EDNSOption.Code.tcpKeepalive.rawValue { hasKeepalive = true }
            option &+= length
        }
        return true
    }

    /// Whether the client forbids sending its network: it sent the client-subnet option with a source prefix length of 0
    /// (RFC 7871 section 7.1.2), in the message from which this was parsed, without a fault.
    public func hidesNetwork(in message: borrowing Span<UInt8>) -> Bool {
        guard let data = option(.clientSubnet, in: message) else { return false }
        // Family, source prefix length, scope prefix length. With a malformed option the network is not sent.
        return data.count < 4 || message[data.lowerBound &+ 2] == 0
    }

    /// Whether the client asks in that message for a padded response: it sent the padding option (RFC 7830).
    public func wantsPadding(in message: borrowing Span<UInt8>) -> Bool { option(.padding, in: message) != nil }

    /// The place of the client's cookie in that message; nil: there is none.
    public func cookie(in message: borrowing Span<UInt8>) -> Range<Int>? { option(.cookie, in: message) }

    /// The place of the data of an EDNS option in the message; nil: there is none.
    private func option(_ code: EDNSOption.Code, in message: borrowing Span<UInt8>) -> Range<Int>? {
        guard options.upperBound <= message.count else { return nil }
        var option = options.lowerBound
        while option &+ 4 <= options.upperBound {
            let length = Int(Self.uint16(message, at: option &+ 2))
            guard option &+ 4 &+ length <= options.upperBound else { return nil }
            if Self.uint16(message, at: option) == code.rawValue { return (option &+ 4)..<(option &+ 4 &+ length) }
            option &+= 4 &+ length
        }
        return nil
    }

    /// Passes the record whose owner begins at `at`, wherever in a message. Returns its type, where that stands, and the
    /// bytes of its data; nil for one that reaches past the message.
    @inline(__always)
    public static func takeRecord(
        _ message: borrowing Span<UInt8>, at: inout Int
    ) -> (type: RecordType, place: Int, dataLength: Int)? {
        guard skipName(message, at: &at), at &+ 10 <= message.count else { return nil }
        let (place, dataLength) = (at, Int(uint16(message, at: at &+ 8)))
        at &+= 10 &+ dataLength
        guard at <= message.count else { return nil }
        return (RecordType(rawValue: uint16(message, at: place)), place, dataLength)
    }

    /// Skips a name, plain or compressed.
    @inline(__always)
    public static func skipName(_ message: borrowing Span<UInt8>, at: inout Int) -> Bool {
        while at < message.count {
            let length = Int(message[at])
            if length == 0 {
                at &+= 1
                return true
            }
            if length >= 0xc0 {
                at &+= 2
                return at <= message.count
            }
            guard length <= Name.maximumLabelLength else { return false }
            at &+= 1 &+ length
        }
        return false
    }

    @inline(__always)
    static func uint16(_ message: borrowing Span<UInt8>, at offset: Int) -> UInt16 {
        UInt16(message[offset]) << 8 | UInt16(message[offset &+ 1])
    }
}
