import DNSCache
public import DNSWire

/// The story of one question, step by step, on an operator's request. Any other question has none, and a step
/// then costs the test for it.
@Loop
public final class Trace {
    /// What a step tells of.
    public enum Kind: String, Sendable {
        /// The list that decides, and the route.
        case route
        /// What the cache has.
        case cache
        /// A source is asked, or not asked.
        case ask
        case reply
        /// The certificate at an address, and what follows from it.
        case check
        /// Which result is taken.
        case decide
        /// For how long it is cached.
        case keep
        /// The response to the client.
        case answer
    }

    /// One thing that happened.
    public struct Step: Equatable, Sendable {
        /// Since the trace began.
        public let after: Duration
        public let kind: Kind
        /// For operators, in one line.
        public let text: String
    }

    /// Steps beyond this number are left out: a forged response may have any number of addresses.
    public nonisolated static let limit = 200

    public private(set) var steps: [Step] = []
    private let clock: any LoopClock
    private let began: Instant

    init(clock: any LoopClock) {
        self.clock = clock
        began = clock.now
    }

    func add(_ kind: Kind, _ text: String) {
        guard steps.count < Self.limit else { return }
        steps.append(Step(after: clock.now - began, kind: kind, text: text))
    }
}

extension Trace? {
    /// Adds what happens now, if the question is traced.
    @Loop @inline(__always)
    func note(_ kind: Trace.Kind, _ text: @autoclosure () -> String) { self?.add(kind, text()) }
}

// The words of traces.

extension [RecordType] {
    /// Such as `A and AAAA`.
    var traceText: String { map(\.description).joined(separator: " and ") }
}

extension Duration {
    /// Such as `12 ms`.
    var traceText: String { "\(nanoseconds / 1_000_000) ms" }
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
