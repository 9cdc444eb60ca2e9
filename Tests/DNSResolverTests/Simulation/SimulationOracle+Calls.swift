import DNSResolver
import DNSWire
import Scheduling

// No waste: no question is asked twice at the same time, and a provider that costs more only where it must be.

extension SimulationOracle {
    private struct SimulatedQuestion: Hashable {
        let server: Int
        let name: Int
        let isSigned: Bool
    }

    /// Duplicate questions to servers, checked at the end.
    func waste(in chronicle: Chronicle) -> [String] {
        var faults: [String] = []
        let asks = chronicle.asks
        var earlier: [SimulatedQuestion: [Int]] = [:]
        for (index, ask) in asks.enumerated() where !ask.isAttackers {
            if !isAllowed(ask, by: chronicle.reigns[ask.epoch.policy]), ask.ended != ask.at {
                faults.append("asked: a source that is not to be asked, \(ask)")
            }
            let question = SimulatedQuestion(server: ask.server, name: ask.name, isSigned: ask.isSigned)
            for other in earlier[question, default: []].map({ asks[$0] })
            where other.network == ask.network && other.epoch == ask.epoch
                && !Set(other.types).isDisjoint(with: ask.types) && other.ended.map({ $0 > ask.at }) ?? true
                && [ask, other].allSatisfy({ max(ask.at, other.at) <= $0.flightBegan + .milliseconds(1_900) })
                && ![ask, other].contains(where: { isShortened($0, in: chronicle) })
            {
                faults.append("waste: asked twice at the same time, first \(other), then \(ask)")
            }
            earlier[question, default: []].append(index)
            if isBesideOthers(ask, 0..<index, in: chronicle) {
                faults.append("waste: a metered provider is asked beside one that is slow, \(ask)")
            }
        }
        return faults
    }

    /// Whether its race began late, for a client that had waited, perhaps for the family that is preferred: one with its whole
    /// time does not share it.
    private func isShortened(_ ask: Chronicle.Ask, in chronicle: Chronicle) -> Bool {
        let own = chronicle.asks.filter {
            $0.name == ask.name && $0.flightBegan == ask.flightBegan && $0.isSigned == ask.isSigned
                && $0.epoch == ask.epoch && $0.types == ask.types
        }
        // What a server was asked before, another race has asked.
        let hasOther = own.contains { again in
            again.at <= ask.at && own.contains { $0.server == again.server && $0.at < again.at }
        }
        return hasOther || own.first.map { $0.at > $0.flightBegan + .milliseconds(100) } ?? false
    }

    /// Whether the policy lets this source be asked this question (sections 1 to 4 and 7).
    private func isAllowed(_ ask: Chronicle.Ask, by reign: Chronicle.Reign) -> Bool {
        guard ask.name >= 0 else { return true }
        let isAnsweredHere =
            reign.preset(of: ask.name, among: reign.policy.presets) != nil
            || !ask.isSigned && ask.types.contains(where: reign.excludes)
        let route = reign.route(of: ask.name)
        let isOfRoute =
            switch ask.giver {
            case .provider(let number):
                ask.types.allSatisfy { reign.providers(for: ask.name, $0, in: plan).contains(number) }
            case .localDNS(let number):
                number == reign.policy.localDNS
                    && (route == .bypass
                        || route.isProtected && reign.mode != .httpdnsOnly
                            && !(ask.types == [.https] && reign.policy.guardsServiceBindings))
            case .forwarder(let number):
                if case .forward(_, number) = route { true } else { false }
            case .preset, .lastResort, .hint: false
            }
        return isOfRoute && !isAnsweredHere
    }

    /// Whether a provider that may not be asked beside others is asked while each of them may still answer, in its first
    /// second (Documentation/Strategy.md: after that it is asked like any other).
    private func isBesideOthers(_ ask: Chronicle.Ask, _ earlier: Range<Int>, in chronicle: Chronicle) -> Bool {
        guard case .provider(let number) = ask.giver, !plan.providers[number].mayHedge,
            chronicle.reigns[ask.epoch.policy].providers(for: ask.name, ask.types[0], in: plan).first != number,
            // Those that return signatures are first in the line of what is asked for with DO.
            !ask.isSigned || !plan.providers[number].answersAnyType,
            ask.at < ask.flightBegan + Duration.milliseconds(900)
        else { return false }
        let others = earlier.reversed().prefix { chronicle.asks[$0].at >= ask.flightBegan - Budget.answer }.filter {
            let other = chronicle.asks[$0]
            guard case .provider = other.giver else { return false }
            // A question asked once more goes on with the requests under way.
            guard other.flightBegan == ask.flightBegan || other.ended.map({ $0 >= ask.flightBegan }) ?? true else {
                return false
            }
            return other.name == ask.name && other.isSigned == ask.isSigned && other.network == ask.network
                && other.epoch == ask.epoch
        }
        // One before it that was not asked in this race was in backoff, and has failed.
        let order = chronicle.reigns[ask.epoch.policy].providers(for: ask.name, ask.types[0], in: plan)
        guard
            order.prefix(while: { $0 != number }).allSatisfy({ earlier in
                others.contains {
                    chronicle.asks[$0].giver == .provider(earlier) && chronicle.asks[$0].flightBegan == ask.flightBegan
                }
            })
        else { return false }
        // Of a provider that is asked for each family apart, the failure or silence of one is that of the provider.
        let answered = Set(
            chronicle.tellings.lazy.filter { if case .failure = $0.result { false } else { true } }.map(\.ask))
        let hasFailed = others.contains { other in
            chronicle.asks[other].ended.map { $0 <= ask.at && !answered.contains(other) } ?? false
        }
        guard !hasFailed else { return false }
        let same = others.map { chronicle.asks[$0] }.filter { !Set($0.types).isDisjoint(with: ask.types) }
        return !same.isEmpty && same.allSatisfy { $0.giver != ask.giver && $0.ended.map { $0 > ask.at } ?? true }
    }
}
