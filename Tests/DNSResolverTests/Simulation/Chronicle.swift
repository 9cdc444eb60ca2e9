import DNSResolver
import DNSWire
import TestSupport

/// Record of all that happened in a simulated world, read by the oracle.
@Loop
final class Chronicle {
    /// The numbers of the policy and of the network in force, counted from the start. Turning the resolver on or off
    /// counts as a new policy.
    struct Epoch: Hashable {
        var policy = 0
        var network = 0
    }

    /// A policy in force.
    struct Reign {
        var policy: SimulationPlan.Policy
        var number: Int
        /// The `names` of each of its providers; an empty list means every name.
        var providerNames: [[String]]
        var isOn: Bool
        /// Of every name, by its number.
        private(set) var routes: [DocumentedRoute] = []

        init(_ policy: SimulationPlan.Policy, number: Int, of plan: SimulationPlan, isOn: Bool) {
            (self.policy, self.number, self.isOn) = (policy, number, isOn)
            providerNames = policy.providers.map { plan.providers[$0].names }
            routes = documentedRoutes
        }

        var mode: Mode { isOn ? policy.mode : .localDNSOnly }
    }

    /// A question sent to a server.
    struct Ask {
        let server: Int
        let giver: SimulatedAddress.Giver
        let name: Int
        let types: [RecordType]
        let isSigned: Bool
        /// The client network sent with the question.
        let network: String?
        /// The epoch in which it was sent.
        let epoch: Epoch
        let at: Instant
        /// When the flight began that sent it.
        let flightBegan: Instant
        var ended: Instant?

        var isAttackers: Bool { SimulationPlan.isAttackers(name) }

        func isUnderWay(at instant: Instant) -> Bool { ended.map { $0 > instant } ?? true }

        /// Whether it is for the same name, by an equal question but for its type.
        func isLike(_ other: Self) -> Bool {
            name == other.name && isSigned == other.isSigned && network == other.network && epoch == other.epoch
        }
    }

    /// A server's response for one type.
    struct Telling {
        /// Its place in `tellings`.
        let number: Int
        let ask: Int
        let giver: SimulatedAddress.Giver
        let name: Int
        let type: RecordType
        let result: Conduct.Result
        let addresses: [Conduct.Address]
        let ttl: UInt32
        let isSigned: Bool
        /// The client network for which it was asked.
        let network: String?
        /// When it was asked, and when it was answered.
        let asked: Epoch
        let answered: Epoch
        let at: Instant
        let flightBegan: Instant

        /// Whether it answers the question that another one answers, in the same race.
        func isInRace(of other: Self) -> Bool {
            let hasFailed = if case .failure = result { true } else { false }
            return name == other.name && type == other.type && network == other.network && isSigned == other.isSigned
                && flightBegan == other.flightBegan && !hasFailed
        }
    }

    let clock: ManualClock
    private(set) var epoch = Epoch()
    private(set) var reigns: [Reign] = []
    private(set) var asks: [Ask] = []
    private(set) var tellings: [Telling] = []
    /// Flushes of one name; nil means all names.
    private(set) var flushes: [(at: Instant, name: Int?)] = []
    private(set) var networkChanges: [Instant] = []
    /// Handshakes that detected a forged address, by address.
    private(set) var caught: [IPAddress: (at: Instant, network: Int)] = [:]
    /// When queries arrived that had waited before they reached the resolver.
    var lateArrivals: Set<Instant> = []
    /// When each server's present conduct began.
    var conductSince: [Instant] = []
    /// Questions that servers have received for attackers' names.
    private var attackersRequests = 0
    /// Faults detected without the oracle.
    var faults: [String] = []
    /// Whether there will be a report, which takes a third of a world's time.
    private let isForReaders: Bool
    /// What clients were answered, for reports.
    private var replies: [(at: Instant, text: String)] = []

    private let attacks: [Attack]

    init(clock: ManualClock, attacks: [Attack], isForReaders: Bool) {
        (self.clock, self.attacks, self.isForReaders) = (clock, attacks, isForReaders)
    }

    /// The policy in force.
    var reign: Reign { reigns[reigns.count - 1] }

    func begin(policy number: Int, of plan: SimulationPlan, isOn: Bool) {
        epoch.policy = reigns.count
        reigns.append(Reign(plan.policies[number], number: number, of: plan, isOn: isOn))
    }

    func changeNetwork() {
        epoch.network += 1
        networkChanges.append(clock.now)
    }

    func flush(_ name: Int?) { flushes.append((clock.now, name)) }

    /// Whether the result of a flight for a name was flushed before a client asked. A flight under way during a flush
    /// goes on.
    func isFlushed(_ name: Int, since flightBegan: Instant, before client: SimulatedWorld.Client) -> Bool {
        let over = flightBegan + SimulatedWorld.patience + .milliseconds(300)
        return flushes.prefix(client.flushes).contains { over <= $0.at && ($0.name ?? name) == name }
    }

    /// Whether the race that asked began when its question came: neither had that waited, nor did the race begin again.
    func hasWholeTime(_ ask: Ask) -> Bool {
        let first = asks.first { $0.isLike(ask) && $0.flightBegan == ask.flightBegan }
        return !lateArrivals.contains(ask.flightBegan)
            && first.map { $0.at <= $0.flightBegan + .milliseconds(100) } ?? true
    }

    /// Whether cached answers of a name may have been flushed after an instant, and before another one.
    func mayBeFlushed(_ name: Int, since instant: Instant, until end: Instant? = nil) -> Bool {
        flushes.contains { instant <= $0.at && $0.at <= end ?? $0.at && ($0.name ?? name) == name }
    }

    func catchHijacker(_ address: IPAddress) { caught[address] = (clock.now, epoch.network) }

    func begin(_ question: UpstreamQuestion, at server: SimulatedServer) -> Int {
        let name = SimulationPlan.number(of: question.name) ?? -1
        if name < 0 { faults.append("question: \(question.name) is asked, which nobody has asked for") }
        asks.append(
            Ask(
                server: server.index, giver: server.giver, name: name, types: question.types,
                isSigned: question.dnssecOK, network: question.clientNetwork?.description,
                epoch: epoch, at: clock.now, flightBegan: question.deadline - SimulatedWorld.patience))
        return asks.count - 1
    }

    /// How a server treats a question for an attacker's name, whatever its conduct for other names; nil for their
    /// names.
    func conductForAttacker(_ ask: Int, at server: SimulatedServer) -> Conduct? {
        guard let attack = attack(on: asks[ask].name) else { return nil }
        attackersRequests += 1
        guard case .localDNS = server.giver else {
            return attack.conducts[attackersRequests % attack.conducts.count]
        }
        let local = attack.localConducts[attackersRequests % attack.localConducts.count]
        var conduct = local.conduct
        guard let victim = local.victim else { return conduct }
        (conduct.owner, conduct.addresses) = (victim, server.conduct.addresses)
        return conduct
    }

    /// What an address of this kind shows in a handshake for a name whose address it is not; nil where the name is no
    /// attacker's.
    func foreignHandshake(_ kind: Conduct.Address, for name: Int) -> Conduct.Address? {
        guard let attack = attack(on: name) else { return nil }
        return kind == .silent || kind == .refusing ? kind : attack.foreignHandshake
    }

    private func attack(on name: Int) -> Attack? {
        SimulationPlan.isAttackers(name) ? attacks[name - SimulationPlan.names.count] : nil
    }

    func reply(_ text: @autoclosure () -> String) {
        if isForReaders { replies.append((clock.now, text())) }
    }

    func end(_ ask: Int) { asks[ask].ended = clock.now }

    func tell(_ ask: Int, _ type: RecordType, _ result: Conduct.Result, _ conduct: Conduct) -> Int {
        let asked = asks[ask]
        tellings.append(
            Telling(
                number: tellings.count, ask: ask, giver: asked.giver, name: asked.name, type: type, result: result,
                addresses: conduct.addresses, ttl: conduct.ttl, isSigned: asked.isSigned, network: asked.network,
                asked: asked.epoch, answered: epoch, at: clock.now, flightBegan: asked.flightBegan))
        return tellings.count - 1
    }
}

extension Chronicle {
    /// What was asked and answered, in order of time, for readers of a report.
    var text: String {
        var lines = asks.enumerated().map { number, ask in
            (
                ask.at,
                "ask \(number): \(ask.giver) (server \(ask.server)) for name \(ask.name) \(ask.types), "
                    + "of the flight of \(ask.flightBegan.milliseconds)"
            )
        }
        lines += tellings.enumerated().map { number, telling in
            (
                telling.at,
                "telling \(number), of ask \(telling.ask): \(telling.type) \(telling.result) \(telling.addresses)"
            )
        }
        lines += replies.map { ($0.at, $0.text) }
        return lines.sorted { $0.0 < $1.0 }.map { "at \($0.0.milliseconds) \($0.1)" }.joined(separator: "\n")
    }
}

extension Instant {
    fileprivate var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
