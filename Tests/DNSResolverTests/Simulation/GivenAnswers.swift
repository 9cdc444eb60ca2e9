import DNSCache
import DNSResolver
import DNSWire
import Scheduling

/// The last answers of providers that clients have received: better than none, and than an unverified one, for an hour
/// after their TTL.
@Loop
struct GivenAnswers {
    private struct Key: Hashable {
        let type: RecordType
        let name: Int
        let isSigned: Bool
        let scope: DocumentedScope

        @Loop
        init(_ one: SimulationOracle.Case) {
            (type, name, isSigned, scope) = (one.type, one.name, one.client.isSigned, one.scope)
        }
    }

    /// The numbers of the responses.
    private var last: [Key: (telling: Int, at: Instant)] = [:]

    mutating func take(_ one: SimulationOracle.Case) {
        guard one.type.isAddress, let address = one.addresses.first ?? nil, case .provider = address.giver else {
            return
        }
        last[Key(one)] = (address.telling, one.now)
    }

    func faults(with one: SimulationOracle.Case) -> [String] {
        guard one.type.isAddress, !one.reply.isStale, one.isFailure || one.isLastResort || one.isUnverified,
            let (number, at) = last[Key(one)], at <= one.client.at
        else { return [] }
        let (chronicle, policy) = (one.chronicle, one.reign.policy)
        let telling = chronicle.tellings[number]
        guard telling.asked.policy == chronicle.epoch.policy, policy.families == .both, policy.freshness.staleMax > 0,
            !chronicle.mayBeFlushed(one.name, since: telling.at)
        else { return [] }
        let lifetime = one.reign.lifetime(telling.ttl, isDenial: false)
        guard lifetime > 0, one.now - telling.at < .seconds(Int64(lifetime) + 3_590) else { return [] }
        // A later response may have replaced it.
        let isReplaced = chronicle.tellings[(number + 1)...].contains { later in
            guard later.name == one.name, later.type.isAddress else { return false }
            switch later.result {
            case .failure: return false
            case .empty: return Self.holds(later, one)
            case .records:
                guard case .provider = later.giver else {
                    return later.addresses.contains(where: \.isHonest) || one.reign.mode == .localDNSFirst
                        || one.reign.mayBeLocal(one.name)
                }
                let lifetime = one.reign.lifetime(later.ttl, isDenial: false)
                return lifetime == 0 || one.now - later.at >= .seconds(Int64(lifetime) + 3_590)
            case .noData, .nameError:
                guard case .localDNS = later.giver else { return true }
                // A denial of LocalDNS alone replaces nothing: a provider must have called the name empty.
                return one.reign.mode == .localDNSFirst || one.reign.mayBeLocal(one.name)
                    || chronicle.tellings.contains { other in
                        guard case .provider = other.giver else { return false }
                        return other.result == .empty && other.name == later.name
                            && other.flightBegan == later.flightBegan
                    }
            }
        }
        return isReplaced ? [] : ["neglect: of a provider's answer of \(one.now - telling.at) ago"]
    }

    /// Whether an empty response is as good as NODATA: its provider has answered addresses of the other family, which are
    /// cached or came soon after (Documentation/Decisions/0003-empty-families.md).
    private static func holds(_ empty: Chronicle.Telling, _ one: SimulationOracle.Case) -> Bool {
        one.chronicle.tellings.contains { other in
            guard other.name == empty.name, other.giver == empty.giver, other.result == .records else { return false }
            if other.flightBegan == empty.flightBegan { return true }
            guard other.type == empty.type.sibling, other.network == empty.network, other.isSigned == empty.isSigned
            else { return false }
            let lifetime = one.reign.lifetime(other.ttl, isDenial: false)
            return empty.at < other.at + .seconds(Int64(lifetime)) && other.at <= empty.flightBegan + Budget.lastStart
        }
    }
}
