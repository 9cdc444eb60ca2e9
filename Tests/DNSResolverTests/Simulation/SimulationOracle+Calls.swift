import DNSResolver
import DNSWire
import Scheduling
import TestSupport

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
