import DNSWire
import Scheduling
import TestSupport

@testable import DNSResolver

/// What a client got, as far as others must not be able to change it.
struct SimulatedOutcome {
    /// How good an answer is, from worst to best.
    enum Worth: Int {
        case failure, unverified, verified, trusted
    }

    /// What a server answered in an earlier flight.
    private struct Earlier: Equatable {
        let server: Int
        let type: RecordType
        let result: Conduct.Result
        let addresses: [Conduct.Address]
    }

    private let question: Question
    private let asked: Instant
    private let worth: Worth
    /// Whether it is stale: then a fresh one that is verified is as good (Documentation/Strategy.md, section 10).
    private let isStale: Bool
    private let waited: Duration
    /// Whether it may depend on when questions arrive: a query that had waited before, servers that change, a flush, or an
    /// address that has not been detected as silent yet, which the next question meets that is asked there first.
    private let isUncertain: Bool
    /// The providers' addresses that were not in backoff. Only a probe that a server fails by its own conduct begins one
    /// (`SimulatedServer.judgeBackoff`): others' questions may have that fault detected earlier, and then the next question
    /// waits for a probe. While there are none, a probe may be under way: how long an answer may take then is judged by
    /// `neglect`, whatever others asked.
    private let usable: Set<Int>
    /// Whether no provider of the name answers anything: then it does not matter which of their faults have been detected.
    /// Where one answers a single family it does: the other family's answer may depend on that one, too.
    private let isHopeless: Bool
    /// Whether it is a denial that the resolver made: how long that lasts depends on when a look-up has failed.
    private let isMadeHere: Bool
    /// Whether it is NODATA, from whatever source.
    private let isEmpty: Bool
    /// The provider's address that answered first in the question's own flight: addresses of one provider may contradict each
    /// other, and which is asked first depends on how fast they were.
    private let answering: Int?
    /// When the flight began that brought this answer, where it is an unverified one of LocalDNS from the cache.
    private let cachedSince: Instant?
    /// When a provider last left its backoff.
    private let lastRecovery: Instant?
    /// Where a provider of the name was back for less time than passes between two probes.
    private let glimpses: [Chronicle.Glimpse]
    /// What servers had answered for the name in earlier flights, in order: where others' questions had an earlier answer
    /// come from another server, what is cached differs, and only that earlier answer is compared.
    private let history: [Earlier]

    @Loop
    init(_ one: SimulationOracle.Case, _ servers: [SimulatedServer]) {
        (question, asked) = (one.client.question, one.client.at)
        (worth, isStale, waited) = (one.worth, one.reply.isStale, one.waited)
        let eligible = one.reign.providers(for: one.name, one.type, in: one.plan)
        isMadeHere = one.reply.denial == .ours
        isEmpty = one.reply.responseCode == .noError && one.reply.answers.isEmpty
        isHopeless =
            !eligible.isEmpty
            && servers.allSatisfy { server in
                !eligible.contains { server.giver == .provider($0) } || !server.conduct.answersSome
            }
        let isSilentUndetected =
            !isHopeless
            && servers.contains { server in
                one.client.usable.contains(server.index)
                    && !(server.conduct.answers && server.conduct.delay < .seconds(1))
            }
        usable = one.client.usable
        answering = one.chronicle.tellings.first {
            guard case .provider = $0.giver else { return false }
            return $0.name == one.name && $0.flightBegan == one.client.at
        }.map { one.chronicle.asks[$0.ask].server }
        cachedSince = worth == .unverified && waited == .zero ? one.lastFallback : nil
        lastRecovery = one.chronicle.lastRecovery
        glimpses = one.chronicle.glimpses.filter { eligible.contains($0.provider) }
        history = one.chronicle.tellings.lazy.filter { $0.name == one.name && $0.flightBegan < one.client.at }.map {
            Earlier(
                server: one.chronicle.asks[$0.ask].server, type: $0.type, result: $0.result, addresses: $0.addresses)
        }
        // What is under way during a flush goes on.
        let mayBeFlushed = one.chronicle.mayBeFlushed(one.name, since: .init(nanoseconds: 0))
        // An account that one address refuses may be probed at that one first.
        let mayBeRefused = servers.contains {
            if case .failure(.authentication) = $0.conduct.reply { true } else { false }
        }
        isUncertain =
            one.client.lateness > .zero || !one.isSettled || isSilentUndetected || mayBeFlushed || mayBeRefused
    }

    private var text: String { "\(isStale ? "stale " : "")\(worth) after \(waited)" }

    /// Faults of what honest clients got, compared with what they get in the same world without attackers: of a name the
    /// first difference counts, for what follows may come from the cache.
    static func harm(_ outcomes: [SimulatedOutcome?], without peaceful: [SimulatedOutcome?]) -> [String] {
        var differing: Set<Name> = []
        return zip(outcomes, peaceful).compactMap { outcome, peaceful in
            guard let outcome, let peaceful, outcome.worth != peaceful.worth,
                differing.insert(outcome.question.name).inserted, outcome.isHarmed(comparedWith: peaceful)
            else { return nil }
            return "harm: \(outcome.question.name) \(outcome.question.type) asked at "
                + "\(outcome.asked.nanoseconds / 1_000_000): \(outcome.text), and without attackers \(peaceful.text)"
        }
    }

    private func isHarmed(comparedWith peaceful: SimulatedOutcome) -> Bool {
        guard worth.rawValue < peaceful.worth.rawValue, !isUncertain, !peaceful.isUncertain,
            // While all are known to fail, a stale answer is not waited behind.
            isHopeless && peaceful.isHopeless && !isStale && !peaceful.isMadeHere
                || !usable.isEmpty && usable.isSuperset(of: peaceful.usable),
            history == peaceful.history
        else { return false }
        if let answering, let other = peaceful.answering, answering != other { return false }
        // The same answer: LocalDNS's denial of a family is given once HTTPDNS has failed, or one made here once LocalDNS's
        // address of the other family is verified, whichever comes first.
        if isEmpty, peaceful.isEmpty, peaceful.isMadeHere { return false }
        // A check may have to wait for a turn of another one to end (Documentation/Strategy.md, section 8).
        // A probe may be awaited before LocalDNS is asked.
        let delay = CheckQueue.turn + (isHopeless ? Duration.milliseconds(900) : .zero)
        if peaceful.worth == .verified, peaceful.waited + delay > Duration.milliseconds(2_250) { return false }
        // A cached answer of LocalDNS yields to what a provider has answered since it was stored, and when that was may depend
        // on the turn of a check, too.
        if worth == .verified, waited == .zero { return false }
        if isHopeless, hasMissedGlimpse(comparedWith: peaceful) { return false }
        // How soon another provider is asked, and which address first, depends on how slow they usually are.
        return worth != .verified || !isStale && !peaceful.isStale && waited < Duration.milliseconds(900)
    }

    /// Whether it is a cached answer of LocalDNS that without attackers has yielded to a provider that was back for less
    /// time than passes between two probes: which of them meets it depends on when they begin, and so on all questions
    /// (Documentation/Strategy.md, section 7).
    private func hasMissedGlimpse(comparedWith peaceful: SimulatedOutcome) -> Bool {
        guard let cachedSince, let otherRecovery = peaceful.lastRecovery, otherRecovery > cachedSince else {
            return false
        }
        let hasRecovered = lastRecovery.map { $0 > cachedSince } ?? false
        return !hasRecovered && glimpses.contains { $0.recoveries.contains(otherRecovery) }
    }
}

extension SimulationOracle.Case {
    fileprivate var worth: SimulatedOutcome.Worth {
        if isFailure { return .failure }
        if isLastResort { return .unverified }
        guard isOfLocalDNS, route.isProtected, reign.mode != .localDNSFirst else { return .trusted }
        // Without a check nothing is verified, whatever certificates the addresses would show.
        return isVerified && reign.check(of: name) != .off ? .verified : .unverified
    }

    /// Whether all servers have behaved as they do for so long that earlier failures have no effect, and none answers an
    /// attacker's questions alone.
    fileprivate var isSettled: Bool {
        !chronicle.hasFavourites && isUndisturbed
            && chronicle.conductSince.allSatisfy { client.at - $0 >= Self.memory }
    }

    /// When the last flight began in which LocalDNS answered this very question; nil where that is the question's own.
    fileprivate var lastFallback: Instant? {
        let last = chronicle.tellings.last { telling in
            telling.giver == .localDNS(reign.policy.localDNS) && telling.name == name && telling.type == type
                && telling.network == scope.network && telling.isSigned == client.isSigned
        }
        return last.flatMap { $0.flightBegan < client.at ? $0.flightBegan : nil }
    }

    /// Whether LocalDNS gave the addresses, or denied them.
    var isOfLocalDNS: Bool {
        if case .localDNS? = addresses.first??.giver { return true }
        guard case .sourced(let number)? = reply.denial, chronicle.tellings.indices.contains(number),
            case .localDNS = chronicle.tellings[number].giver
        else { return false }
        return true
    }

    /// Whether it is LocalDNS's unverified answer for a protected name, in place of HTTPDNS's.
    var isUnverified: Bool {
        isOfLocalDNS && route.isProtected && type.isAddress && !reign.providers(for: name, type, in: plan).isEmpty
            && (reign.check(of: name) == .off || !isVerified) && !isVerifiedDenial
            && !(reign.mode == .localDNSFirst && reign.isBelowUnverified(name))
    }

    /// Whether it is LocalDNS's denial of a family beside addresses of the other one that certificates verify, or of what a
    /// provider has called empty.
    private var isVerifiedDenial: Bool {
        reply.answers.isEmpty
            && chronicle.tellings.contains { telling in
                guard telling.name == name, telling.network == scope.network else { return false }
                if telling.type == type { return telling.result == .empty }
                guard case .localDNS = telling.giver else { return false }
                return telling.result == .records && telling.addresses.contains(where: \.isHonest)
            }
    }

    /// Whether certificates verify all addresses of LocalDNS's answer, if there is time.
    var isVerified: Bool { !addresses.isEmpty && addresses.allSatisfy { $0?.kind?.isHonest ?? false } }
}
