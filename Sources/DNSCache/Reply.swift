public import DNSWire

/// Composes every response to a client, in the one place that knows which bits a client sees.
///
/// The question is echoed bit for bit; ID, opcode, RD and CD are copied; QR and RA are set; AA, TC, AD and Z are clear
/// (RFC 1035 section 4.1.1, RFC 6840 section 5.7 and 5.8). The flags are defined for QUERY alone: with another opcode
/// all but QR are clear (RFC 8906 section 8.1.4). An OPT record is there if the query had one (RFC 6891 section 6.1.1),
/// and holds no option but a cookie, an extended error and a keepalive time-out.
public enum Reply {
    /// How the TTLs of a cached answer are sent.
    public enum Aging: Hashable, Sendable {
        /// Less the seconds since it was stored, not below 0.
        case fresh(age: UInt32)
        /// All 30 seconds (RFC 8767 section 4).
        case stale
    }

    /// What an OPT record may say besides its fixed fields; nothing in the common case.
    public struct Options: Hashable, Sendable {
        public var error: ExtendedError?
        /// How long the TCP connection may stay idle, in 100 ms; only for a client that sent the option, never over UDP
        /// (RFC 7828 section 3.3).
        public var keepalive: UInt16?
        /// Only for a client that sent one; a truncated response has it, too.
        public var cookie: Cookie?

        public init(error: ExtendedError? = nil, keepalive: UInt16? = nil, cookie: Cookie? = nil) {
            self.error = error
            self.keepalive = keepalive
            self.cookie = cookie
        }

        /// How many bytes of the options a truncated response has.
        fileprivate var retained: Int { cookie == nil ? 0 : Cookie.optionLength }
    }

    /// The TTL of a stale record, in seconds (RFC 8767 section 4 recommends 30).
    public static let staleTTL: UInt32 = 30

    /// Writes a cached answer.
    ///
    /// - Parameters:
    ///   - message: the client's message, from which `query` was read.
    ///   - limit: the longest response, in bytes; a longer one is cut and has TC set.
    ///   - output: gets the response appended; its free capacity is a limit too.
    /// - Returns: false, with nothing written, when not even header, question and OPT fit.
    @discardableResult
    public static func write(
        _ answer: PackedAnswer, to query: Query, message: Span<UInt8>, aging: Aging, options: Options = Options(),
        limit: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let echo = Echo(query)
        let room = min(limit, output.freeCapacity) - echo.fixedLength - answer.body.count
        let optionBytes = query.hasEDNS ? options.bytes(fitting: room) : []
        let isWritten = write(
            answer.responseCode.rawValue, counts: answer.counts, body: answer.body.span, echo: echo, message: message,
            aging: aging, options: optionBytes.span, retained: options.retained, limit: limit, into: &output)
        if answer.rotates {
            output.rotateAddresses(of: answer.body.span, answers: Int(answer.counts.answer), aging: aging)
        }
        return isWritten
    }

    /// Writes a response without records: a failure, a refusal, or what a query with a fault gets.
    ///
    /// - Parameter code: up to 12 bits; without EDNS one above 15 becomes SERVFAIL.
    /// - Returns: false, with nothing written, when not even header, question and OPT fit.
    @discardableResult
    public static func write(
        _ code: ResponseCode, to query: Query, message: Span<UInt8>, options: Options = Options(), limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let echo = query.flags.opcode == 0 ? Echo(query) : Echo(ofUnknownOpcode: query)
        let room = min(limit, output.freeCapacity) - echo.fixedLength
        let optionBytes = query.hasEDNS ? options.bytes(fitting: room) : []
        return write(
            (query.hasEDNS || code.rawValue <= 15 ? code : .serverFailure).rawValue,
            counts: PackedAnswer.SectionCounts(), body: Span(), echo: echo, message: message, aging: .fresh(age: 0),
            options: optionBytes.span, retained: options.retained, limit: limit, into: &output)
    }

    /// Writes a response without records and with TC, whatever the answer is: the client is to ask again over TCP. Returns
    /// false, with nothing written, when not even header, question and OPT fit.
    public static func writeTruncated(
        to query: Query, message: Span<UInt8>, limit: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        writeTruncated(
            ResponseCode.noError.rawValue, answers: 0, body: Span(), echo: Echo(query), message: message,
            aging: .fresh(age: 0), options: Span(), limit: limit, into: &output)
    }

    /// The one writer behind every response; inlined where the store answers a hit.
    @inline(__always)
    static func write(
        _ code: UInt16, counts: PackedAnswer.SectionCounts, body: Span<UInt8>, echo: Echo, message: Span<UInt8>,
        aging: Aging, options: Span<UInt8>, retained: Int = 0, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        output.append(
            code, counts: counts, body: body, echo: echo, message: message, aging: aging, options: options, limit: limit
        )
            || writeTruncated(
                code, answers: Int(counts.answer), body: body, echo: echo, message: message, aging: aging,
                options: options.extracting(first: retained), limit: limit, into: &output)
    }

    /// A response with TC: the client is to ask again over TCP. Returns false, with nothing written, when not even that
    /// fits.
    ///
    /// With EDNS it is header, question and OPT, and a cookie. A client without may know no TCP either (musl before 1.2.4)
    /// and takes a response without records for a name without addresses: it gets the whole records of the answer that fit.
    @inline(never)
    private static func writeTruncated(
        _ code: UInt16, answers: Int, body: Span<UInt8>, echo: Echo, message: Span<UInt8>, aging: Aging,
        options: Span<UInt8>, limit: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let room = min(limit, output.freeCapacity)
        var echo = echo
        echo.head |= 0x0200 << 32
        var (count, length) = (0, 0)
        while !echo.hasEDNS, count < answers, let record = RecordPlace(in: body, at: length),
            echo.fixedLength + record.end <= room
        {
            (count, length) = (count + 1, record.end)
        }
        return output.append(
            code, counts: PackedAnswer.SectionCounts(answer: UInt16(truncatingIfNeeded: count)),
            body: body.extracting(0..<length), echo: echo, message: message, aging: aging, options: options,
            limit: limit)
    }
}

extension Reply.Aging {
    /// The TTL that is sent for a stored one.
    @inline(__always)
    public func ttl(_ stored: UInt32) -> UInt32 {
        switch self {
        case .fresh(let age): stored > age ? stored &- age : 0
        case .stale: Reply.staleTTL
        }
    }
}

extension Reply {
    /// What a response repeats from its query, in few words.
    struct Echo {
        /// The first eight bytes of the header, without RCODE and the number of answers.
        var head: UInt64
        var questionLength: Int
        var hasEDNS: Bool
        var dnssecOK: Bool

        /// RD and CD are copied.
        private static var copiedFlags: UInt16 { 0x0110 }
        /// QR and RA are set.
        private static var setFlags: UInt16 { 0x8080 }

        /// - Parameter query: of opcode QUERY.
        @inline(__always)
        init(_ query: Query) { self.init(query, flags: query.flags.rawValue & Self.copiedFlags | Self.setFlags) }

        /// Copies the opcode, and sets QR.
        init(ofUnknownOpcode query: Query) { self.init(query, flags: query.flags.rawValue & 0x7800 | 0x8000) }

        @inline(__always)
        private init(_ query: Query, flags: UInt16) {
            head = UInt64(query.id) << 48 | UInt64(flags) << 32 | (query.questionLength > 0 ? 1 << 16 : 0)
            questionLength = query.questionLength
            hasEDNS = query.hasEDNS
            dnssecOK = query.dnssecOK
        }

        /// Bytes of a response without records and options.
        @inline(__always)
        var fixedLength: Int { 12 &+ questionLength &+ (hasEDNS ? 11 : 0) }
    }
}

extension Reply.Options {
    /// The options' bytes, at most `room` of them: an extended error loses its text before it is left out, and a
    /// keepalive stays as long as it fits. A cookie comes first, and stays whether it fits or not.
    fileprivate func bytes(fitting room: Int) -> [UInt8] {
        let text = error?.text.utf8
        var bytes: [UInt8] = []
        bytes.reserveCapacity(12 + (text?.count ?? 0) + retained)
        cookie?.append(to: &bytes)
        if let keepalive, bytes.count + 6 <= room {
            Self.append([EDNSOption.Code.tcpKeepalive.rawValue, 2, keepalive], to: &bytes)
        }
        guard let error, let text, bytes.count + 6 <= room else { return bytes }
        let length = bytes.count + 6 + text.count <= room ? text.count : 0
        Self.append([EDNSOption.Code.extendedError.rawValue, UInt16(length + 2), error.code.rawValue], to: &bytes)
        bytes.append(contentsOf: text.prefix(length))
        return bytes
    }

    private static func append(_ numbers: [3 of UInt16], to bytes: inout [UInt8]) {
        for index in numbers.indices {
            bytes.append(UInt8(truncatingIfNeeded: numbers[index] >> 8))
            bytes.append(UInt8(truncatingIfNeeded: numbers[index]))
        }
    }
}
