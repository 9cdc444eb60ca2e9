import DNSResolver
import DNSWire
package import Scheduling

/// Limits the number of open c-ares channels, of one `LocalDNS` or of several that share the limit, and selects those
/// that are displaced.
///
/// A channel is one outstanding query: one descriptor, and 75 kB. The only query of a lookup has priority over a
/// further one (a retransmission, or a query to another server): when all channels are open, a further one is displaced
/// at once. Among equals the rule is `FairShare`'s. A network that would itself have the most displaces its own query
/// that has been without a response for so long that an answer is unlikely: so names that are answered have priority
/// over names that are not.
@Loop
package final class LocalDNSChannelLimit: Sendable {
    /// The longest wait for a server that does not respond before the next one is queried; after it a query may be
    /// displaced by another one of its own network.
    nonisolated static let patience = Duration.milliseconds(400)

    /// The most open channels. Default 1,024.
    package nonisolated let maximum: Int

    /// The number of open channels.
    package var open: Int { only.holdings.count + further.holdings.count }

    /// The entry of an open channel.
    struct Place {
        fileprivate let isOnly: Bool
        fileprivate let ticket: FairShare.Ticket
    }

    private struct Channel {
        let began: Instant
        let displace: @Loop () -> Void
    }

    private struct Channels {
        var holdings: FairShare
        var all: [FairShare.Ticket: Channel] = [:]

        mutating func remove(_ ticket: FairShare.Ticket) -> Channel? {
            holdings.remove(ticket)
            return all.removeValue(forKey: ticket)
        }
    }

    private var only: Channels
    private var further: Channels

    package nonisolated init(maximum: Int = 1_024) {
        self.maximum = maximum
        only = Channels(holdings: FairShare(capacity: maximum))
        further = Channels(holdings: FairShare(capacity: maximum))
    }

    /// Adds a channel; nil when the limit is reached and none can be displaced.
    ///
    /// - Parameters:
    ///   - isOnly: whether it is the only outstanding query of its lookup.
    ///   - displace: called at most once, before `leave`, when the channel is displaced and must be closed; its place is
    ///     already taken then.
    func enter(
        for network: ClientNetwork, isOnly: Bool, at now: Instant, displace: @escaping @Loop () -> Void
    ) -> Place? {
        if open >= maximum {
            guard let leaving = leaving(to: network, isOnly: isOnly, at: now) else { return nil }
            remove(leaving)?.displace()
        }
        let channel = Channel(began: now, displace: displace)
        if isOnly {
            let ticket = only.holdings.add(for: network)
            only.all[ticket] = channel
            return Place(isOnly: true, ticket: ticket)
        }
        let ticket = further.holdings.add(for: network)
        further.all[ticket] = channel
        return Place(isOnly: false, ticket: ticket)
    }

    private func leaving(to network: ClientNetwork, isOnly: Bool, at now: Instant) -> Place? {
        guard isOnly else {
            return further.holdings.yielding(to: network).map { Place(isOnly: false, ticket: $0) }
        }
        if let largest = further.holdings.largest, let ticket = further.holdings.first(of: largest.network) {
            return Place(isOnly: false, ticket: ticket)
        }
        if let ticket = only.holdings.yielding(to: network) { return Place(isOnly: true, ticket: ticket) }
        guard let own = only.holdings.first(of: network), let channel = only.all[own],
            now - channel.began >= Self.patience
        else { return nil }
        return Place(isOnly: true, ticket: own)
    }

    private func remove(_ place: Place) -> Channel? {
        place.isOnly ? only.remove(place.ticket) : further.remove(place.ticket)
    }

    /// Removes a channel, unless it was displaced.
    func leave(_ place: Place) { _ = remove(place) }
}
