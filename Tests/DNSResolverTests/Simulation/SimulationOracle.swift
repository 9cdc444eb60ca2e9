import DNSResolver
import DNSWire
import Scheduling
import TestSupport

/// Checks what the clients of a simulated world get against what they are promised: never a wrong address, always an
/// answer in time, no question asked twice. When which source is asked, and how long its answers are used within their
/// limits, is left to the resolver.
@Loop
struct SimulationOracle {
    let plan: SimulationPlan
    private var given = GivenAnswers()

    init(plan: SimulationPlan) { self.plan = plan }

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
        one.chronicle.reply(one.text)
        var faults = one.form + one.time
        // An attacker's answers for its own names are checked no further.
        if client.isAttacker { return faults.map { "\($0) | \(one.text)" } }
        if let preset = one.preset {
            faults += one.faults(with: preset)
        } else if one.reign.excludes(one.type), !client.isSigned {
            if reply.responseCode != .noError || !reply.answers.isEmpty {
                faults.append("families: \(one.type) is not to be answered")
            }
        } else {
            faults += one.wrong + one.neglect(servers) + given.faults(with: one)
        }
        given.take(one)
        return faults.map { "\($0) | \(one.text)" }
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
        let expected =
            type.isAddress && preset.types.contains(type)
            ? [preset.address(.preset, policy: reign.number).address(type)] : []
        let isExpected = reply.answers.compactMap(\.address) == expected && reply.answers.count == expected.count
        return isExpected && reply.responseCode == .noError && !reply.isStale ? [] : ["preset: another answer"]
    }
}
