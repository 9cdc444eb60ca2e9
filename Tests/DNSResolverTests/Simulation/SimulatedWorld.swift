import DNSCache
import DNSWire
import TestSupport

@testable import DNSResolver

/// A resolver with its sources and clients, on a manual clock.
@Loop
final class SimulatedWorld {
    /// One client's question, and its replies.
    @Loop
    final class Client {
        let question: Question
        let name: Int
        let isSigned: Bool
        let client: SimulatedClient
        let at: Instant
        /// How long its query had waited before it reached the resolver.
        let lateness: Duration
        let epoch: Chronicle.Epoch
        /// The number of cache flushes before it.
        let flushes: Int
        /// The servers of providers that may be asked for the name, and were not in backoff then, by their indices.
        let usable: Set<Int>
        var answered: Instant?
        var replies = 0
        var isAttacker: Bool { SimulationPlan.isAttackers(name) }

        init(
            _ question: Question, _ asking: SimulationPlan.Asking, _ client: SimulatedClient, _ chronicle: Chronicle,
            usable: Set<Int>
        ) {
            self.usable = usable
            (self.question, name, isSigned) = (question, asking.name, asking.isSigned)
            (self.client, lateness) = (client, asking.lateness)
            (at, epoch, flushes) = (chronicle.clock.now, chronicle.epoch, chronicle.flushes.count)
        }
    }

    /// The object that a reply is delivered to; deallocated once nothing waits for the reply any more.
    @Loop
    private final class Door {}

    private struct DoorPlate { weak var door: Door? }

    /// Every client has its answer after this time at the latest.
    static let patience: Duration = .milliseconds(2_300)

    let plan: SimulationPlan
    let clock: ManualClock
    let chronicle: Chronicle
    let servers: [SimulatedServer]
    let handshake: SimulatedHandshake
    let checks: AddressChecks
    private let probes: Probes
    private let providers: [SimulatedProvider]
    private let memory = MemoryCache(memory: 1 << 20)
    private let generation = PolicyGeneration()
    private let tags: (localDNS: [UInt16], forwarders: [UInt16], providers: [UInt16])
    private let store: AnswerStore
    let resolver: Resolver
    private var clients: [Client] = []
    private var doors: [DoorPlate] = []
    /// Timers of the questions that attackers will ask.
    private var attackers: [LoopTimer] = []
    /// The number of the policy in force, as numbered in the plan.
    private var policy = 0
    /// Those used so far, by their numbers.
    private var policies: [Int: ResolverPolicy]

    /// - Parameter isForReaders: whether the chronicle is to say what clients were answered. Default: no.
    init(_ plan: SimulationPlan, isForReaders: Bool = false) {
        self.plan = plan
        let clock = ManualClock()
        let chronicle = Chronicle(clock: clock, attacks: plan.attacks, isForReaders: isForReaders)
        self.clock = clock
        self.chronicle = chronicle
        var servers: [SimulatedServer] = []
        func add(_ giver: SimulatedAddress.Giver) -> SimulatedServer {
            let server = SimulatedServer(
                giver, index: servers.count, plan.conducts[servers.count], chronicle)
            chronicle.conductSince.append(clock.now - .seconds(60))
            servers.append(server)
            return server
        }
        providers = plan.providers.enumerated().map { number, provider in
            SimulatedProvider(
                provider, number: number, networkBits: plan.networkBits,
                servers: (0..<provider.addresses).map { _ in add(.provider(number)) })
        }
        for number in 0..<SimulationPlan.localDNSCount { _ = add(.localDNS(number)) }
        for number in 0..<SimulationPlan.forwarderCount { _ = add(.forwarder(number)) }
        self.servers = servers
        handshake = SimulatedHandshake(chronicle)
        checks = AddressChecks(
            ports: [443], handshake: handshake, journal: HijackJournal(timeOfDay: { 0 }, report: { _ in }),
            timeOfDay: TimeOfDay(clock: clock), clock: clock)
        probes = Probes(clock: clock, report: { _ in })
        var numbers = SourceTags.Numbers()
        tags = (
            (0..<SimulationPlan.localDNSCount).map { _ in numbers.next() },
            (0..<SimulationPlan.forwarderCount).map { _ in numbers.next() },
            plan.providers.map { _ in numbers.nextProvider() }
        )
        let first = SimulatedWorld.policy(
            plan.policies[0], 0, plan, providers, servers, checks: checks, probes: probes, tags: tags)
        store = AnswerStore(
            memory: memory, freshness: plan.policies[0].freshness, generation: generation, policy: first,
            badAddresses: BadAddresses(clock: clock), clock: clock)
        resolver = Resolver(policy: first, store: store, clock: clock)
        policies = [0: first]
        chronicle.begin(policy: 0, of: plan, isOn: true)
    }

    private func policy(_ number: Int) -> ResolverPolicy {
        if let policy = policies[number] { return policy }
        let policy = Self.policy(
            plan.policies[number], number, plan, providers, servers, checks: checks, probes: probes, tags: tags)
        policies[number] = policy
        return policy
    }

    /// Plays the whole plan, or as far as it goes without a fault.
    ///
    /// - Returns: the faults.
    func play() async -> [String] {
        resolver.preresolve()
        for step in plan.steps {
            await play(step)
            judgeLoad()
            judgeBackoffs()
            guard chronicle.faults.isEmpty else { return chronicle.faults }
        }
        attackers.forEach { $0.cancel() }
        attackers.removeAll()
        await clock.advance(by: Self.patience)
        for client in clients where client.replies != 1 {
            chronicle.faults.append("answers: \(client.question) has \(client.replies)")
        }
        // What no client waits for any more ends as well.
        await clock.advance(by: .seconds(30))
        judgeRest()
        chronicle.faults += chronicle.waste(plan)
        return chronicle.faults
    }

    private func play(_ step: SimulationPlan.Step) async {
        switch step {
        case .ask(let asking):
            for type in asking.types { for place in 0..<asking.times { ask(asking, type, place: place) } }
        case .pass(let time):
            await clock.advance(by: time)
        case .conduct(let server, let conduct):
            servers[server].adopt(conduct)
        case .replacePolicy(let number):
            policy = number
            chronicle.begin(policy: number, of: plan, isOn: resolver.isOn)
            resolver.replace(
                with: policy(number), freshness: plan.policies[number].freshness, change: .sources)
            resolver.preresolve()
        case .reload:
            resolver.replace(with: policy(policy), freshness: plan.policies[policy].freshness, change: .names)
            resolver.preresolve()
        case .turn(let isOn):
            if isOn != resolver.isOn { chronicle.begin(policy: policy, of: plan, isOn: isOn) }
            resolver.turn(on: isOn)
        case .changeNetwork:
            chronicle.changeNetwork()
            for server in servers { server.health.networkChanged(at: clock.now) }
            for provider in providers { provider.access.succeeded() }
            checks.forgetAll()
            resolver.networkChanged()
            resolver.preresolve()
        case .flush(let name):
            chronicle.flush(name)
            let removal: AnswerRemoval =
                name.flatMap { try? Name(SimulationPlan.names[$0]) }.map { .name($0) } ?? .all
            Loop.spawn { [resolver] in _ = await resolver.remove(removal) }
            await clock.advance(by: .zero)
        case .attack(let number): attack(number)
        }
    }

    private func attack(_ number: Int) {
        let attack = plan.attacks[number]
        for place in 0..<attack.count {
            let at = clock.now + attack.interval * place
            attackers.append(
                clock.schedule(at: at) { [self] in
                    judgeBackoffs()
                    let text = "r\(place % attack.names).\(Attack.domains[number])"
                    guard let name = try? Name(text) else { return }
                    ask(
                        Question(name: name, type: attack.type),
                        .init(name: SimulationPlan.names.count + number, types: [attack.type]), .attacker)
                })
        }
    }

    private func ask(_ asking: SimulationPlan.Asking, _ type: RecordType, place: Int) {
        guard let text = try? Name(SimulationPlan.names[asking.name]) else { return }
        let simulated = SimulatedClient.all[(asking.client + place) % SimulatedClient.all.count]
        ask(Question(name: text, type: type), asking, simulated)
    }

    private func ask(_ question: Question, _ asking: SimulationPlan.Asking, _ simulated: SimulatedClient) {
        let client = Client(
            question, asking, simulated, chronicle, usable: usable(for: question.name))
        clients.append(client)
        if client.lateness > .zero { chronicle.lateArrivals.insert(client.at - client.lateness) }
        if let hit = hit(question, isSigned: client.isSigned) { return take(hit, for: client) }
        let asked = ClientQuestion(
            question: question, dnssecOK: client.isSigned, client: simulated.address,
            hidesNetwork: simulated.hidesNetwork, arrived: clock.now - client.lateness)
        let door = Door()
        doors.append(DoorPlate(door: door))
        resolver.respond(to: asked) { [self] response in
            withExtendedLifetime(door) { take(SimulatedReply(response, to: question), for: client) }
        }
    }

    /// What a UDP thread answers from the cache; nil for a miss.
    private func hit(_ question: Question, isSigned: Bool) -> SimulatedReply? {
        var message = Message(id: 1, flags: .recursionDesired, questions: [question])
        if isSigned { message.edns = EDNS(dnssecOK: true) }
        let bytes = message.encoded
        guard let query = Query.read(bytes.span) else { return nil }
        var isHit = false
        let reply = [UInt8](capacity: 4_096) { output in
            isHit = memory.answer(
                query, memory.ticket(for: query, in: bytes.span), message: bytes.span, now: clock.now,
                generation: generation.current, limit: 4_096, into: &output)
        }
        guard isHit else { return nil }
        return SimulatedReply(hit: reply)
    }

    private func take(_ reply: SimulatedReply?, for client: Client) {
        client.replies += 1
        client.answered = clock.now
        guard let reply else {
            chronicle.faults.append("answers: \(client.question) has one that is no message")
            return
        }
        let one = JudgedReply(reply, to: client, chronicle, plan, servers)
        chronicle.reply(one.text)
        chronicle.faults += one.broken.map { "\($0) | \(one.text)" }
    }

    // MARK: Health

    /// The servers of providers that may be asked for a name and are not in backoff, by their indices.
    private func usable(for name: Name) -> Set<Int> {
        var usable: Set<Int> = []
        for provider in providers where !provider.access.isActive {
            guard provider.names.isEmpty || provider.names.contains(where: { name.isWithin($0) }) else { continue }
            for server in provider.servers where server.health.isUsable { usable.insert(server.index) }
        }
        return usable
    }

    private func judgeBackoffs() {
        for provider in providers {
            provider.judgeAccess(chronicle)
            for server in provider.servers { server.judgeBackoff() }
        }
    }

    // MARK: No waste

    /// Checks that there are no more flights and waiters than the clients that may still wait.
    private func judgeLoad() {
        var longest = Self.patience * 2
        // Behind an answer of LocalDNS HTTPDNS is asked once its check has shown it to be forged; checks are made sixteen
        // at a time.
        if plan.policies.contains(where: { $0.mode == .localDNSFirst }) {
            longest += AddressChecks.longest * (clients.count / 16 + 1)
        }
        let waiting = clients.reversed().prefix { clock.now - $0.at <= longest }.count
        let load = resolver.load
        let limit = 16 + 8 * waiting
        if load.flights > limit || load.waiters > limit {
            chronicle.faults.append("load: \(load.flights) flights, \(load.waiters) waiters for \(waiting) clients")
        }
    }

    /// Checks what is left once all clients have their answers.
    private func judgeRest() {
        let load = resolver.load
        if load != (0, 0) { chronicle.faults.append("rest: \(load.flights) flights, \(load.waiters) waiters are left") }
        if !checks.pending.isEmpty { chronicle.faults.append("rest: certificate checks are left") }
        if handshake.underWay > 0 { chronicle.faults.append("rest: \(handshake.underWay) handshakes are left") }
        let held = doors.count { $0.door != nil }
        if held > 0 { chronicle.faults.append("rest: \(held) clients are held on to") }
        let open = chronicle.asks.filter { $0.ended == nil }
        if !open.isEmpty { chronicle.faults.append("rest: questions are left: \(open)") }
        if let due = clock.nextDue { chronicle.faults.append("rest: a timer is left, due in \(due - clock.now)") }
    }
}
