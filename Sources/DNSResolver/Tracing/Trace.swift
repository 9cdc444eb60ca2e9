import DNSCache
package import DNSWire
package import Scheduling

/// The story of one question, step by step, on an operator's request. Any other question has none, and a step
/// then costs the test for it.
@Loop
package final class Trace {
    /// What a step tells of.
    package enum Kind: String, Sendable {
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
    package struct Step: Equatable, Sendable {
        /// Since the trace began.
        package let after: Duration
        package let kind: Kind
        /// For operators, in one line.
        package let text: String
    }

    /// Steps beyond this number are left out: a forged response may have any number of addresses.
    package nonisolated static let limit = 200

    package private(set) var steps: [Step] = []
    private let clock: any LoopClock
    private let began: Instant

    init(clock: any LoopClock) {
        self.clock = clock
        began = clock.now
    }

    /// Adds what happens now.
    func add(_ kind: Kind, _ text: String) {
        guard steps.count < Self.limit else { return }
        steps.append(Step(after: clock.now - began, kind: kind, text: text))
    }
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

// The story of an answer, for an operator.

extension Resolver {
    /// Answers a question as that of a client of this machine, and tells how.
    ///
    /// Sources are asked, and their answers cached, as for any client.
    package func trace(_ question: Question) async -> (trace: Trace, response: Response) {
        let trace = Trace(clock: clock)
        trace.add(.route, decision(on: question))
        if !isOn { trace.add(.route, "HTTPDNS is switched off") }
        let client = ClientQuestion(
            question: question, client: .v4(0x7f00_0001), arrived: clock.now, trace: trace)
        let response = await withCheckedContinuation { continuation in
            respond(to: client) { continuation.resume(returning: $0) }
        }
        let source = sourceName(response.kind, response.source)
        trace.add(.answer, "\(response.traceText(for: question)); \(source.pairs)")
        return (trace, response)
    }

    /// What decides about a question, with the place in the configuration.
    func decision(on question: Question) -> String {
        let name = question.name.lowercased
        switch policy.localAnswers.reply(to: question, policy: policy.routes) {
        case .configured(_, .preset)?:
            guard case .preset(let entry, let isWildcard)? = policy.localAnswers.presets.rule(for: name) else { break }
            let rule = RoutingRule.preset(entry, isWildcard: isWildcard)
            return "answered here: a preset has \(isWildcard ? "*." : "")\(entry)\(place(rule))"
        case .configured?: return "answered here: answers.prefer excludes \(question.type)"
        case .answer?: return "answered here: a special-use name"
        case .refusal?: return "answered here: refused"
        case nil: break
        }
        let (reason, rule) = configured.routes.decision(on: name)
        let (route, configuredRoute) = (policy.routes.route(for: name, .a), configured.routes.route(for: name, .a))
        let text = "\(configuredRoute): \(reason)\(rule.map(place) ?? "")"
        // Of a name that LocalDNS has anyway the switch decides nothing.
        return route == configuredRoute ? text : "\(route): HTTPDNS is switched off; else \(text)"
    }

    private func place(_ rule: RoutingRule) -> String { placeOfRule(rule).map { " (\($0))" } ?? "" }

    /// Notes what the cache has for a question.
    func note(_ cached: AnswerStore.Cached?, _ type: RecordType, _ key: FlightKey, in trace: Trace) {
        guard let provenance = provenance(of: key, type) else { return trace.add(.cache, "\(type) is not cached") }
        let use =
            switch cached {
            case nil: "not used"
            case let cached? where cached.isFresh: "used"
            case _?: "used if nothing better comes"
            }
        trace.add(.cache, "\(provenance): \(use)")
    }
}
