package import Scheduling

/// The order in which a provider's addresses are asked: the fastest first, and once in a while another one.
///
/// The first address of the list is preferred until it fails, or another one's replies begin a fifth sooner. Stored by
/// each provider, used by the selector.
@Loop
package struct AddressRanking {
    /// Another address must take at most this much of the preferred one's time to replace it, in percent.
    nonisolated static let advantage = 80
    /// One question in this many begins with another address, so that a faster one is detected.
    package nonisolated static let explorationInterval = 50

    private var preferred: ObjectIdentifier?
    private var questions = 0
    private var explorations = 0

    package nonisolated init() {}

    /// The order for one question.
    ///
    /// - Parameters:
    ///   - usable: addresses that may be asked now, in configured order.
    ///   - family: of the provider's first address. The other family's come last: vendors want their IPv6 addresses to
    ///     be used only where there is no IPv4.
    mutating func order(_ usable: [any Endpoint], family: AddressFamily) -> [any Endpoint] {
        guard usable.count > 1 else { return usable }
        var ordered = ranked(usable, family: family)
        preferred = ObjectIdentifier(ordered[0])
        questions += 1
        guard questions.isMultiple(of: Self.explorationInterval) else { return ordered }
        let first = ordered[0]
        let others = usable.filter { $0 !== first && $0.family == first.family && $0.health.isUsable }
        guard !others.isEmpty else { return ordered }
        let explored = others[explorations % others.count]
        explorations += 1
        ordered.removeAll { $0 === explored }
        return [explored] + ordered
    }

    /// Whether questions begin with this address, except explorations.
    package func isPreferred(_ endpoint: any Endpoint) -> Bool { preferred == ObjectIdentifier(endpoint) }

    /// The address that is asked after the preferred one; nil when there is none.
    package func spare(of usable: [any Endpoint], family: AddressFamily) -> (any Endpoint)? {
        guard usable.count > 1 else { return nil }
        return ranked(usable, family: family)[1]
    }

    /// The preferred one, then those not in backoff, the fastest first; those never asked in configured order.
    private func ranked(_ usable: [any Endpoint], family: AddressFamily) -> [any Endpoint] {
        let ranked = usable.enumerated().sorted { first, second in
            key(first.element, first.offset, family) < key(second.element, second.offset, family)
        }.map(\.element)
        guard let current = usable.first(where: { ObjectIdentifier($0) == preferred && $0.health.isUsable }) else {
            // Nothing is preferred yet, or it has failed.
            return preferred == nil ? unranked(usable, ranked) : ranked
        }
        let best = ranked[0]
        guard best !== current, best.health.isUsable, best.family == current.family, Self.isMuchFaster(best, current)
        else { return [current] + ranked.filter { $0 !== current } }
        return ranked
    }

    /// At the start the configured order applies, as far as nothing has failed.
    private func unranked(_ usable: [any Endpoint], _ ranked: [any Endpoint]) -> [any Endpoint] {
        guard let first = usable.first(where: { $0.health.isUsable }) else { return ranked }
        return [first] + ranked.filter { $0 !== first }
    }

    private static func isMuchFaster(_ endpoint: any Endpoint, _ current: any Endpoint) -> Bool {
        guard let new = endpoint.health.responseTime.average, let old = current.health.responseTime.average else {
            return false
        }
        return new * 100 < old * advantage
    }

    private func key(_ endpoint: any Endpoint, _ place: Int, _ family: AddressFamily) -> RankingKey {
        RankingKey(
            isInBackoff: !endpoint.health.isUsable, isOtherFamily: endpoint.family != family,
            time: endpoint.health.responseTime.average, place: place)
    }
}

/// Compared member by member.
private struct RankingKey: Comparable {
    let isInBackoff: Bool
    let isOtherFamily: Bool
    let time: Duration?
    let place: Int

    static func < (first: RankingKey, second: RankingKey) -> Bool {
        if first.isInBackoff != second.isInBackoff { return second.isInBackoff }
        if first.isOtherFamily != second.isOtherFamily { return second.isOtherFamily }
        switch (first.time, second.time) {
        case (let one?, let two?) where one != two: return one < two
        case (_?, nil): return true
        case (nil, _?): return false
        default: return first.place < second.place
        }
    }
}
