import DNSCache
import DNSWire
import Scheduling

// The words of traces.

extension [RecordType] {
    /// Such as `A and AAAA`.
    var traceText: String { map(\.description).joined(separator: " and ") }
}

extension Duration {
    /// Such as `12 ms`.
    var traceText: String { "\(nanoseconds / 1_000_000) ms" }
}

extension UpstreamReply {
    /// The result of each of its types.
    func traceText(_ types: [RecordType]) -> String {
        types.compactMap { type in results[type].map { "\(type): \($0.traceText(type))" } }.joined(separator: "; ")
    }
}

extension UpstreamResult {
    func traceText(_ type: RecordType) -> String {
        switch self {
        case .answer(let answer): answer.traceText(type)
        case .indeterminateEmpty: "nothing, and it does not say why"
        case .failure(let failure): "\(failure)"
        }
    }
}

extension Answer {
    /// The most addresses that a line has.
    private static let shown = 8

    func traceText(_ type: RecordType) -> String {
        guard !isNegative(for: type) else { return responseCode == .noError ? "NODATA" : "\(responseCode)" }
        let addresses = addresses
        let more = addresses.count > Self.shown ? " and \(addresses.count - Self.shown) more" : ""
        let what =
            addresses.isEmpty
            ? "\(answers.count) records"
            : addresses.prefix(Self.shown).map(\.description).joined(separator: ", ") + more
        return what + (answers.map(\.ttl).min().map { ", TTL \($0)" } ?? "")
    }
}

extension AddressVerdict {
    var traceText: String {
        switch self {
        case .verified: "shows a certificate of the name"
        case .forged: "shows a certificate that is not the name's: forged"
        case .noTLS: "speaks no TLS"
        case .wrongTime: "shows a certificate that is the name's but for its time"
        case .unclear: "says nothing that decides it"
        case .unreachable: "cannot be reached from here"
        case .unchecked: "was not checked in time"
        case .discredited: "was not checked, and showed wrong certificates for names of the same owner"
        }
    }
}

extension Response {
    /// What the client gets.
    func traceText(for question: Question) -> String {
        let records: String
        switch content {
        case .answer(let packed, let age):
            records = packed.unpacked(for: question)?.aged(.fresh(age: age)).traceText(question.type) ?? ""
        case .stale(let packed):
            records = packed.unpacked(for: question)?.aged(.stale).traceText(question.type) ?? ""
        case .failure: records = ""
        }
        let isAlone = records.isEmpty || records == "\(responseCode)"
        let text = isAlone ? "\(responseCode)" : "\(responseCode), \(records)"
        return extendedError.map { "\(text) (\($0.text))" } ?? text
    }
}
