/// One parsed DNS message: for responses of upstreams and for synthesized responses.
///
/// A client's query is parsed by `Query`, which does not allocate.
package struct Message: Hashable, Sendable {
    package var id: UInt16
    package var flags: HeaderFlags
    package var questions: [Question]
    package var answers: [Record]
    package var authorities: [Record]
    /// The additional section without its OPT record.
    package var additionals: [Record]
    package var edns: EDNS?

    package init(
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
    package var responseCode: ResponseCode {
        ResponseCode(rawValue: UInt16(edns?.extendedResponseCode ?? 0) << 4 | flags.responseCode.rawValue)
    }
}

/// QNAME, QTYPE and QCLASS (RFC 1035 section 4.1.2).
package struct Question: Hashable, Sendable {
    /// With the letter case of the query; compared case-insensitively.
    package var name: Name
    package var type: RecordType
    package var `class`: RecordClass

    package init(name: Name, type: RecordType, class: RecordClass = .internet) {
        self.name = name
        self.type = type
        self.class = `class`
    }
}

extension Question: CustomStringConvertible {
    package var description: String { "\(name) \(type)" }
}
