/// For how long an HTTP cache may hold a response (RFC 8484 section 5.1).
package enum ReplyLifetime {
    /// Bytes of an SOA record's data behind its two names: five numbers, of which the last is the lifetime of negative
    /// answers.
    private static let soaNumbers = 20

    /// The smallest TTL of the answer; of a negative answer, also behind an alias, the TTL or minimum of its SOA record too
    /// (RFC 2308 section 5). Nil for a response that has neither, or is an error.
    package static func seconds(_ reply: borrowing Span<UInt8>) -> UInt32? {
        guard reply.count >= Header.length else { return nil }
        let code = ResponseCode(rawValue: UInt16(reply[3] & 15))
        guard code == .noError || code == .nameError else { return nil }
        var at = Header.length
        for _ in 0..<Query.uint16(reply, at: 4) {
            guard Query.skipName(reply, at: &at), at <= reply.count - 4 else { return nil }
            at += 4
        }
        let (answers, authorities) = (Int(Query.uint16(reply, at: 6)), Int(Query.uint16(reply, at: 8)))
        var seconds: UInt32?
        for index in 0..<(answers + authorities) {
            guard Query.skipName(reply, at: &at), at <= reply.count - 10 else { return nil }
            let isSOA = Query.uint16(reply, at: at) == RecordType.soa.rawValue
            let dataLength = Int(Query.uint16(reply, at: at + 8))
            let end = at + 10 + dataLength
            guard end <= reply.count else { return nil }
            if index < answers {
                seconds = min(seconds ?? .max, uint32(reply, at: at + 4))
            } else if isSOA, dataLength >= soaNumbers {
                seconds = min(seconds ?? .max, uint32(reply, at: at + 4), uint32(reply, at: end - 4))
            }
            at = end
        }
        return seconds
    }

    private static func uint32(_ message: borrowing Span<UInt8>, at offset: Int) -> UInt32 {
        UInt32(Query.uint16(message, at: offset)) << 16 | UInt32(Query.uint16(message, at: offset + 2))
    }
}
