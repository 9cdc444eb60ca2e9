import DNSResolver
import DNSWire
import Scheduling
import TestSupport

/// Checks the responses to clients of a simulated world against the documents alone: Documentation/Strategy.md and its
/// decisions. Where these leave a choice, it reports no fault.
@Loop
struct SimulationOracle {
    let plan: SimulationPlan
    private var given = GivenAnswers()

    init(plan: SimulationPlan) { self.plan = plan }

    private struct SimulatedQuestion: Hashable {
        let server: Int
        let name: Int
        let isSigned: Bool
    }

    /// One reply, and everything that it is judged by.
    @Loop
    struct Case {
        let reply: SimulatedReply
        let client: SimulatedWorld.Client
        let chronicle: Chronicle
        let plan: SimulationPlan
        let addresses: [SimulatedAddress?]

        init(
            _ reply: SimulatedReply, to client: SimulatedWorld.Client, _ chronicle: Chronicle, _ plan: SimulationPlan
        ) {
            (self.reply, self.client, self.chronicle, self.plan) = (reply, client, chronicle, plan)
            addresses = reply.answers.compactMap(\.address).map { SimulatedAddress($0) }
        }

        var name: Int { client.name }
        var type: RecordType { client.question.type }
        var now: Instant { chronicle.clock.now }
        /// Time since the resolver received its query.
        var waited: Duration { now - client.at }
        var scope: DocumentedScope { reign.scope(of: client.client, for: name, in: plan) }
        var reign: Chronicle.Reign { chronicle.reign }
        var route: DocumentedRoute { reign.route(of: name) }
        /// Whether neither policy nor network changed while the client waited.
        var isUndisturbed: Bool { client.epoch == chronicle.epoch }
        var isFailure: Bool { reply.responseCode == .serverFailure }
        /// Whether the answer is a preset of last resort, returned when no upstream answers.
        var isLastResort: Bool { reply.error?.code == .other && reply.error?.text == "preset of last resort" }
    }

    mutating func judge(_ one: Case, _ servers: [SimulatedServer]) -> [String] {
        let (reply, client) = (one.reply, one.client)
        var faults = one.form + one.time
        // An attacker's answers for its own names are checked no further.
        if client.isAttacker { return faults.map { "\($0) | \(one.text)" } }
        if let preset = one.preset {
            faults += one.faults(with: preset)
        } else if one.reign.excludes(one.type), !client.isSigned {
            if reply.responseCode != .noError || !reply.answers.isEmpty || reply.ttl > 60 {
                faults.append("families: \(one.type) is not to be answered")
            }
        } else {
            faults += one.origin
            faults += one.neglect(servers)
            faults += given.faults(with: one)
        }
        given.take(one)
        return faults.map { "\($0) | \(one.text)" }
    }

    /// Duplicate questions to servers, checked at the end (no waste).
    func waste(in chronicle: Chronicle) -> [String] {
        var faults: [String] = []
        let asks = chronicle.asks
        var earlier: [SimulatedQuestion: [Int]] = [:]
        for (index, ask) in asks.enumerated() where !ask.isAttackers {
            let question = SimulatedQuestion(server: ask.server, name: ask.name, isSigned: ask.isSigned)
            for other in earlier[question, default: []].map({ asks[$0] })
            where other.network == ask.network && other.epoch == ask.epoch
                && !Set(other.types).isDisjoint(with: ask.types) && other.ended.map({ $0 > ask.at }) ?? true
            {
                faults.append("waste: asked twice at the same time, first \(other), then \(ask)")
            }
            earlier[question, default: []].append(index)
            if isBesideOthers(ask, asks[..<index]) {
                faults.append("waste: a metered provider is asked beside one that is slow, \(ask)")
            }
        }
        return faults
    }

    /// Whether a provider that may not be asked beside others is asked while each of them may still answer, in its first
    /// second (Documentation/Strategy.md: after that it is asked like any other).
    private func isBesideOthers(_ ask: Chronicle.Ask, _ asks: ArraySlice<Chronicle.Ask>) -> Bool {
        guard case .provider(let number) = ask.giver, !plan.providers[number].mayHedge,
            ask.at < ask.flightBegan + Budget.spared
        else { return false }
        let others = asks.reversed().prefix { $0.at >= ask.flightBegan }.filter { other in
            guard case .provider = other.giver else { return false }
            return other.name == ask.name && other.flightBegan == ask.flightBegan && other.isSigned == ask.isSigned
                && other.network == ask.network && other.epoch == ask.epoch
                && !Set(other.types).isDisjoint(with: ask.types)
        }
        return !others.isEmpty && others.allSatisfy { $0.giver != ask.giver && $0.ended.map { $0 > ask.at } ?? true }
    }
}

extension SimulationOracle.Case {
    /// A description for fault reports.
    var text: String {
        let answers = reply.answers.map { record in
            guard let address = record.address.flatMap({ SimulatedAddress($0) }) else { return "\(record)" }
            return "\(address.giver) \(address.number) \(address.kind.map { "\($0)" } ?? "") ttl \(record.ttl)"
        }
        return
            "\(client.question.name) \(type) signed \(client.isSigned), asked at \(client.at.nanoseconds / 1_000_000), "
            + "answered after \(waited): \(reply.responseCode)\(reply.isStale ? " stale" : "") \(answers) "
            + "\(reply.denial.map { "\($0)" } ?? "") \(reply.error.map { "EDE \($0.code.rawValue) \($0.text)" } ?? "") "
            + "by \(reign.mode), \(route), check \(reign.check(of: name)), policy \(reign.number)"
    }

    // MARK: Form and time

    /// Owner names, types and codes.
    var form: [String] {
        var faults: [String] = []
        if ![ResponseCode.noError, .nameError, .serverFailure].contains(reply.responseCode) {
            faults.append("form: nobody says \(reply.responseCode)")
        }
        if reply.answers.contains(where: { $0.name != client.question.name || $0.type != type }) {
            faults.append("form: records of another name or type")
        }
        if !reply.answers.isEmpty, reply.responseCode != .noError { faults.append("form: an error with records") }
        if reply.answers.isEmpty, !isFailure, reply.denial == nil { faults.append("form: a denial without an SOA") }
        if isFailure, reply.error == nil { faults.append("form: SERVFAIL without a cause") }
        return faults
    }

    /// The time to answer, counted from when the query arrived.
    var time: [String] {
        waited > max(.zero, SimulatedWorld.patience - client.lateness) ? ["time: too late"] : []
    }

    // MARK: Presets

    /// The entry of `[preset] always` that applies (section 2).
    var preset: SimulationPlan.Preset? { reign.preset(of: name, among: reign.policy.presets) }

    func faults(with preset: SimulationPlan.Preset) -> [String] {
        var faults: [String] = []
        let expected =
            type.isAddress && preset.types.contains(type)
            ? [preset.address(.preset, policy: reign.number).address(type)] : []
        if reply.answers.compactMap(\.address) != expected || reply.answers.count != expected.count
            || reply.responseCode != .noError || reply.isStale
        {
            faults.append("preset: another answer")
        }
        if reply.ttl > 60 { faults.append("preset: TTL \(reply.ttl)") }
        if isUndisturbed, waited > .zero { faults.append("preset: it took \(waited)") }
        return faults
    }
}
