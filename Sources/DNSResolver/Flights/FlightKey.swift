package import DNSWire
import Scheduling

/// The key by which equal upstream questions are coalesced. An object: every step of a flight refers to it.
package final class FlightKey: Sendable {
    /// Lower-cased. The class is always IN.
    package let name: Name
    /// The type that is asked for; nil: A, AAAA, or both.
    package let type: RecordType?
    package let route: Route
    package let dnssecOK: Bool
    package let checkingDisabled: Bool
    /// For which clients it is asked, where a provider of the name is sent their networks; nil: for all.
    package let scope: ClientScope?
    /// The client network whose fair share it counts against: that of the client that began it. Not part of equality.
    package let holder: ClientNetwork
    /// The generation of the policy, so that no question joins a flight of an older policy or takes over its failure.
    package let generation: UInt32
    /// Where its steps are noted; nil: nowhere. Not part of equality.
    let trace: Trace?
    /// The key of its answers in the cache, but for the type.
    private let cacheKey: QueryKey
    /// Of the name, which is long.
    private let nameHash: Int

    /// Whether it asks for signatures, or for a client that validates them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// - Parameter type: of the key of an address family, the other one has the same key.
    package init(
        name: Name, type: RecordType, route: Route, dnssecOK: Bool, checkingDisabled: Bool,
        scope: ClientScope? = nil, holder: ClientNetwork = .daemon, generation: UInt32 = 0, trace: Trace? = nil
    ) {
        self.trace = trace
        self.holder = holder
        self.name = name
        self.type = type.isAddress ? nil : type
        self.route = route
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.scope = scope
        self.generation = generation
        nameHash = name.hashValue
        cacheKey = QueryKey(
            Question(name: name, type: type), dnssecOK: dnssecOK, checkingDisabled: checkingDisabled, scope: scope)
    }

    /// The key of the answer to one of its types in the cache.
    func cacheKey(_ type: RecordType) -> QueryKey {
        var key = cacheKey
        key.type = type
        return key
    }
}

extension FlightKey {
    /// Whether it may cost a call that a client has caused.
    var isBraked: Bool { if case .protect = route { holder != .daemon } else { false } }
}

extension FlightKey: Hashable {
    package static func == (left: FlightKey, right: FlightKey) -> Bool {
        left === right
            || left.name == right.name && left.type == right.type && left.route == right.route
                && left.dnssecOK == right.dnssecOK && left.checkingDisabled == right.checkingDisabled
                && left.scope == right.scope && left.generation == right.generation
    }

    /// The remaining fields distinguish only what few names have at the same time.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(nameHash)
        hasher.combine(type)
        if let scope { hasher.combine(scope) }
    }
}
