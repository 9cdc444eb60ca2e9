import DNSCache
import DNSResolver
import DNSWire

/// The response to a simulated client, as the client would read it from the message.
struct SimulatedReply {
    let responseCode: ResponseCode
    /// With the TTLs sent to the client.
    let answers: [Record]
    let authorities: [Record]
    let isStale: Bool
    let error: ExtendedError?

    /// Nil when its records cannot be read.
    init?(_ response: Response, to question: Question) {
        responseCode = response.responseCode
        isStale = if case .stale = response.content { true } else { false }
        error = response.extendedError
        let packed: PackedAnswer
        let ttl: (UInt32) -> UInt32
        switch response.content {
        case .failure:
            (answers, authorities) = ([], [])
            return
        case .answer(let answer, let age):
            packed = answer
            ttl = { $0 - min($0, age) }
        case .stale(let answer):
            packed = answer
            ttl = { _ in Reply.staleTTL }
        }
        guard let answer = packed.unpacked(for: question) else { return nil }
        func aged(_ records: [Record]) -> [Record] {
            records.map { record in
                var record = record
                record.ttl = ttl(record.ttl)
                return record
            }
        }
        answers = aged(answer.answers)
        authorities = aged(answer.authorities)
    }

    /// The answer of a UDP thread, as a message.
    init?(hit bytes: [UInt8]) {
        guard let message = try? MessageParser.parse(bytes) else { return nil }
        responseCode = message.responseCode
        answers = message.answers
        authorities = message.authorities
        isStale = false
        error = nil
    }

    /// The origin of a denial: a server's response of this number, or the resolver itself.
    enum Denial: Equatable {
        case sourced(Int)
        case ours
    }

    /// Nil without an SOA record.
    var denial: Denial? {
        guard let soa = authorities.first(where: { $0.type == .soa }) else { return nil }
        guard soa.rdata.count == 22 else { return .ours }
        return .sourced(soa.rdata[2..<6].reduce(0) { $0 << 8 | Int($1) } - 1_000)
    }

    /// The longest TTL of the records that answer, or deny.
    var ttl: UInt32 { (answers.isEmpty ? authorities : answers).map(\.ttl).max() ?? 0 }
}
