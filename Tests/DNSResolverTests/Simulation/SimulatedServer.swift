@testable import DNSResolver
import DNSWire
import TestSupport

/// A server of a simulated world: a LocalDNS, the servers of a `[[forward]]`, or one address of a provider.
@Loop
final class SimulatedServer: Endpoint {
    /// A private key of HTTPS records, whose value is the number of the response.
    nonisolated static let mark: UInt16 = 65_280

    nonisolated let name: String
    nonisolated let index: Int
    nonisolated let giver: SimulatedAddress.Giver
    let health = AddressHealth()
    private(set) var conduct: Conduct
    /// Whether a probe of this address has failed because of its own conduct since it was last usable; for
    /// `hasRefusedProbe`, whether its provider's account refused one.
    private var hasFailedProbe = false
    private var hasRefusedProbe = false
    private let chronicle: Chronicle
    private var clock: ManualClock { chronicle.clock }

    init(_ giver: SimulatedAddress.Giver, index: Int, _ conduct: Conduct, _ chronicle: Chronicle) {
        name = "\(giver) #\(index)"
        self.giver = giver
        self.index = index
        if case .provider = giver { self.conduct = conduct } else { self.conduct = conduct.ofPlainDNS }
        self.chronicle = chronicle
    }

    /// Changes the conduct, from the next question on.
    func adopt(_ conduct: Conduct) {
        chronicle.conductSince[index] = clock.now
        if case .provider = giver { self.conduct = conduct } else { self.conduct = conduct.ofPlainDNS }
    }

    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        Attempt(self, question, done)
    }

    /// The probe's neutral name is treated as every name is now.
    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        let conduct = conduct
        let (due, isAnswered) = due(conduct, min(clock.now + .milliseconds(900), deadline))
        return Probe(
            timer: clock.schedule(at: due) { [self] in
                guard isAnswered, let result = conduct.result(for: .a) else { return endProbe(by: .timeout, done) }
                if case .failure(let failure) = result { return endProbe(by: failure, done) }
                done(UpstreamReply([.a]) { _ in .indeterminateEmpty(ttl: nil) })
                judgeBackoff()
            })
    }

    private func endProbe(by failure: UpstreamFailure, _ done: @Loop (UpstreamReply) -> Void) {
        switch failure {
        case .responseCode, .rejected: break
        case .authentication: hasRefusedProbe = true
        default: hasFailedProbe = true
        }
        done(UpstreamReply(failure: failure, types: [.a]))
        judgeBackoff()
    }

    /// Checks that an address is in backoff only after a probe that failed because of its own conduct, whatever clients
    /// ask and whatever results they get.
    func judgeBackoff() {
        if health.isUsable {
            hasFailedProbe = false
        } else if !hasFailedProbe {
            chronicle.faults.append("backoff: \(name) without a failed probe, at \(clock.now.nanoseconds / 1_000_000)")
        }
    }

    /// Whether a probe was refused because of this server's own conduct since its provider's account was last usable.
    func wasRefused(accessIsActive: Bool) -> Bool {
        if !accessIsActive { hasRefusedProbe = false }
        return hasRefusedProbe
    }

    @Loop
    private final class Probe: Cancellable {
        private let timer: LoopTimer

        init(timer: LoopTimer) { self.timer = timer }

        func cancel() { timer.cancel() }
    }

    func retireConnections() {}

    private func due(_ conduct: Conduct, _ deadline: Instant) -> (at: Instant, isAnswered: Bool) {
        let reply = clock.now + conduct.delay
        return conduct.reply != .silence && reply < deadline ? (reply, true) : (deadline, false)
    }

    /// One question.
    @Loop
    private final class Attempt: Cancellable {
        private let server: SimulatedServer
        private let ask: Int
        private let began: Instant
        private var timer: LoopTimer?

        init(
            _ server: SimulatedServer, _ question: UpstreamQuestion,
            _ done: @escaping @Loop (UpstreamReply) -> Void
        ) {
            self.server = server
            ask = server.chronicle.begin(question, at: server)
            began = server.clock.now
            let conduct = server.chronicle.conductForAttacker(ask, at: server) ?? server.conduct
            let (due, isAnswered) = server.due(conduct, question.deadline)
            timer = server.clock.schedule(at: due) { [self] in
                timer = nil
                if isAnswered { server.health.measured(server.clock.now - began) }
                done(server.reply(to: question, ask, conduct, isAnswered))
                server.judgeBackoff()
            }
        }

        func cancel() {
            guard let timer = timer.take() else { return }
            timer.cancel()
            server.chronicle.end(ask)
        }
    }

    private func reply(
        to question: UpstreamQuestion, _ ask: Int, _ conduct: Conduct, _ isAnswered: Bool
    ) -> UpstreamReply {
        chronicle.end(ask)
        guard isAnswered else { return UpstreamReply(failure: .timeout, types: question.types) }
        return UpstreamReply(question.types, server: name) { type in
            guard let result = conduct.result(for: type) else { return .failure(.timeout) }
            let telling = chronicle.tell(ask, type, result, conduct)
            return self.result(result, of: question.name, type, telling, conduct)
        }
    }

    private func result(
        _ result: Conduct.Result, of name: Name, _ type: RecordType, _ telling: Int, _ conduct: Conduct
    ) -> UpstreamResult {
        switch result {
        case .failure(let failure): .failure(failure)
        case .empty: .indeterminateEmpty(ttl: conduct.ttl)
        case .noData: .answer(denial(.noError, telling, conduct))
        case .nameError: .answer(denial(.nameError, telling, conduct))
        case .records where type.isAddress:
            .answer(Answer(name: name, addresses: addresses(type, telling, conduct), ttl: conduct.ttl))
        case .records where type == .https:
            .answer(Answer(answers: [binding(of: name, telling, conduct)]))
        case .records: .answer(denial(.noError, telling, conduct))
        }
    }

    /// The serial of its SOA record is the number of the response.
    private func denial(_ code: ResponseCode, _ telling: Int, _ conduct: Conduct) -> Answer {
        let numbers: [UInt32] = [UInt32(1_000 + telling), 3_600, 600, 86_400, conduct.ttl]
        var rdata: [UInt8] = [0, 0]
        for number in numbers {
            for shift: UInt32 in [24, 16, 8, 0] { rdata.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        return Answer(
            responseCode: code,
            authorities: [Record(name: .root, type: .soa, ttl: conduct.ttl, rdata: rdata)])
    }

    private func addresses(_ type: RecordType, _ telling: Int, _ conduct: Conduct) -> [IPAddress] {
        let name = chronicle.tellings[telling].name
        guard case .localDNS = giver else {
            return (0..<2).map { SimulatedAddress(giver, name: name, number: 2 * telling + $0).address(type) }
        }
        return conduct.addresses.enumerated().map { place, kind in
            SimulatedAddress(giver, name: conduct.owner ?? name, number: 8 * kind.rawValue + place).address(type)
        }
    }

    /// The target is the name itself, or another one.
    private func binding(of name: Name, _ telling: Int, _ conduct: Conduct) -> Record {
        let number = chronicle.tellings[telling].name
        let target = telling.isMultiple(of: 3) ? SimulationPlan.names[(number + telling) % 6] : "."
        func hint(_ type: RecordType) -> [UInt8] {
            SimulatedAddress(.hint, name: number, number: 2 * telling).address(type).bytes
        }
        let mark = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: telling >> $0) }
        return Record(
            name: name, type: .https, ttl: conduct.ttl,
            rdata: TestServiceBinding.rdata(1, target, [(4, hint(.a)), (6, hint(.aaaa)), (Self.mark, mark)]))
    }
}

/// A provider of a simulated world.
@Loop
final class SimulatedProvider: Provider {
    nonisolated let name: String
    nonisolated let answersBothFamilies: Bool
    nonisolated let names: [Name]
    nonisolated let isAuthenticated: Bool
    nonisolated let clientScoping: ClientScoping?
    private nonisolated let answersAnyType: Bool
    nonisolated let mayHedge: Bool
    var access = Backoff()
    let unavailability: String? = nil
    let callShare: Int? = nil
    let waitingRequests = 0
    let servers: [SimulatedServer]

    func leftOut() {}

    init(_ plan: SimulationPlan.Provider, number: Int, networkBits: Int, servers: [SimulatedServer]) {
        clientScoping = plan.receivesNetworks ? ClientScoping(bits: networkBits) : nil
        name = "provider \(number)"
        answersBothFamilies = plan.answersBothFamilies
        names = plan.names.compactMap { try? Name($0) }
        isAuthenticated = plan.isAuthenticated
        answersAnyType = plan.answersAnyType
        mayHedge = plan.mayHedge
        self.servers = servers
    }

    nonisolated func answers(_ type: RecordType) -> Bool { answersAnyType ? !type.isMeta : type.isAddress }

    var endpoints: [any Endpoint] { servers }

    /// Checks that the account is in backoff only after a probe that was refused.
    func judgeAccess(_ chronicle: Chronicle) {
        // Asked of every server, since each updates its own state.
        let refused = servers.count { $0.wasRefused(accessIsActive: access.isActive) }
        if access.isActive, refused == 0 { chronicle.faults.append("backoff: \(name), access without a refused probe") }
    }
}

/// The servers that certificate checks connect to in a simulated world.
@Loop
final class SimulatedHandshake: Handshake {
    private let chronicle: Chronicle
    private(set) var underWay = 0

    init(_ chronicle: Chronicle) { self.chronicle = chronicle }

    func shakeHands(
        with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant
    ) async -> HandshakeOutcome {
        guard let simulated = SimulatedAddress(address), let kind = simulated.kind,
            let number = SimulationPlan.number(of: name),
            let shown = number == simulated.name ? kind : chronicle.foreignHandshake(kind, for: number)
        else {
            chronicle.faults.append("handshake: with \(address) for \(name)")
            return .cancelled
        }
        underWay += 1
        defer { underWay -= 1 }
        let (time, outcome) = shown.handshake
        let due = chronicle.clock.now + time
        let network = chronicle.epoch.network
        guard await chronicle.clock.sleep(until: min(due, deadline)) else { return .cancelled }
        guard due < deadline else { return .silent }
        if kind.isHijacker, number == simulated.name, network == chronicle.epoch.network {
            chronicle.catchHijacker(address)
        }
        return outcome
    }
}
