/// A query as it was received.
struct RawQuery: Sendable {
    enum Way: Sendable, Equatable {
        case udp(port: UInt16)
        case tcp(Int32)
    }

    let bytes: [UInt8]
    let way: Way

    var id: UInt16 { UInt16(bytes[0]) << 8 | UInt16(bytes[1]) }
    var isTCP: Bool { if case .tcp = way { true } else { false } }
    var sourcePort: UInt16? { if case .udp(let port) = way { port } else { nil } }
    var additionalCount: UInt8 { bytes[11] }
    var type: UInt16 { UInt16(question[question.count - 4]) << 8 | UInt16(question[question.count - 3]) }
    /// QNAME in wire form, as it was sent.
    var name: [UInt8] { Array(question.dropLast(4)) }

    /// Whether its name begins with `slow`: a test's server may not reply to such names.
    var isSlow: Bool { name.dropFirst().prefix(4).map { $0 | 0x20 } == Array("slow".utf8) }

    /// Whether it is a query of a probe.
    var isProbe: Bool { type == 2 }

    /// QNAME, QTYPE and QCLASS.
    var question: [UInt8] {
        var at = 12
        while bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return Array(bytes[12..<(at + 5)])
    }

    /// A reply to it; each argument makes it differ in one way.
    func reply(
        _ records: [[UInt8]] = [], flags: UInt16 = 0x8180, id: UInt16? = nil, question: [UInt8]? = nil,
        authorities: [[UInt8]] = [], additionals: [[UInt8]] = []
    ) -> [UInt8] {
        let id = id ?? self.id
        let counts = [records.count, authorities.count, additionals.count].flatMap {
            [UInt8($0 >> 8), UInt8($0 & 0xff)]
        }
        return [UInt8(id >> 8), UInt8(id & 0xff), UInt8(flags >> 8), UInt8(flags & 0xff), 0, 1] + counts
            + (question ?? self.question) + records.joined() + authorities.joined() + additionals.joined()
    }

    /// A reply of a header only, as servers send that could not read the query or refused it.
    func bareReply(code: UInt16, id: UInt16? = nil) -> [UInt8] {
        let id = id ?? self.id
        return [UInt8(id >> 8), UInt8(id & 0xff), 0x81, UInt8(0x80 | code), 0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// The question's name in the opposite letter case.
    var flippedQuestion: [UInt8] {
        name.map { (0x41...0x5a).contains($0 & ~0x20) ? $0 ^ 0x20 : $0 } + question.suffix(4)
    }
}

/// A record whose owner is QNAME, by a pointer, unless `owner` says otherwise.
func rawRecord(_ type: UInt16, owner: [UInt8] = [0xc0, 12], ttl: UInt32 = 60, _ rdata: [UInt8]) -> [UInt8] {
    owner + [UInt8(type >> 8), UInt8(type & 0xff), 0, 1]
        + (0..<4).map { UInt8(truncatingIfNeeded: ttl >> UInt32(24 - 8 * $0)) }
        + [UInt8(rdata.count >> 8), UInt8(rdata.count & 0xff)] + rdata
}

/// An OPT record of a server; `code`: the upper eight bits of the RCODE.
func rawOPT(code: UInt8 = 0) -> [UInt8] { [0, 0, 41, 4, 208, code, 0, 0, 0, 0, 0] }

let rawGood: [UInt8] = [192, 0, 2, 1]
let rawEvil: [UInt8] = [203, 0, 113, 66]
