import DNSCache
package import DNSWire
import Scheduling

// Limits on the misses of a client network.

extension Resolver {
    /// Limits the misses of each client network from now on; what they had counts on where the limits are the same.
    ///
    /// - Parameter limits: nil: none.
    package func limitMisses(_ limits: MissLimits?) {
        guard limits != flights.brake?.limits else { return }
        flights.brake = limits.map { MissBrake($0) }
    }

    /// Whether a client network has used a quarter of what it may ask for at once.
    package func isNearBrake(_ question: Question, of network: ClientNetwork) -> Bool {
        flights.brake?.isNear(question.name.lowercased, of: network, at: clock.now) ?? false
    }

    /// How many misses were refused since the start.
    package var refusedMisses: Int { flights.refusedMisses }

    /// Why the miss of a client costs its network too much; nil where it asks nothing of a provider, or may.
    func refusal(of client: ClientQuestion, _ key: FlightKey) -> String? {
        // Mostly nothing limits them.
        guard flights.brake != nil || policy.lines.hasCallLimit, key.isBraked,
            flights.coalescer.flight(for: key)?.isUnderWay(client.question.type) != true
        else { return nil }
        if let domain = flights.brake?.refuses(key.name, of: key.holder, at: clock.now) {
            flights.refusedMisses += 1
            report(.missesRefused(key.holder, domain: domain))
            return "limits.misses_per_second: too many names that are not cached, now below \(domain)"
        }
        guard let share = policy.lines.callShare(for: key),
            flights.shares.refuses(key.holder, share: share, at: clock.now)
        else { return nil }
        flights.refusedMisses += 1
        report(.callsRefused(key.holder))
        return "daily_limit, monthly_limit: this client's network has had its share of the calls that are left"
    }
}

extension FlightKey {
    /// Whether it may cost a call that a client has caused.
    var isBraked: Bool { if case .protect = route { holder != .daemon } else { false } }
}

extension PackedAnswer {
    /// Whether it says that the name does not exist. Vendors without response codes give it no address; a name without
    /// IPv6 address alone mostly has others.
    func denies(_ type: RecordType) -> Bool { responseCode == .nameError || type == .a && !holds(.a) }
}
