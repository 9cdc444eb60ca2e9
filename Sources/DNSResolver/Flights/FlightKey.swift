package import DNSWire

/// What makes two questions the same piece of work upstream. An object: every step of a flight refers to it.
package final class FlightKey: Sendable {
    /// Lower-cased. The class is always IN.
    package let name: Name
    /// A and AAAA together where one call brings both ("twins"), else one type.
    package let types: [RecordType]
    package let route: Route
    package let dnssecOK: Bool
    package let checkingDisabled: Bool
    /// For which clients it is asked, where a provider of the name is told their networks; nil: for all.
    package let scope: ClientScope?
    /// The client network in whose share it is: of the client that began it. Not part of what makes two questions the same.
    package let holder: ClientNetwork
    /// The policy's, so that nobody joins a flight of an older policy, or hears of its failure.
    package let generation: UInt32

    /// Whether it asks for signatures, or for a client who checks them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// Whether it asks for HTTPS or SVCB, whose address hints stand beside A and AAAA (RFC 9460).
    var isServiceBinding: Bool { types.count == 1 && types[0].isServiceBinding }

    package init(
        name: Name, types: [RecordType], route: Route, dnssecOK: Bool, checkingDisabled: Bool,
        scope: ClientScope? = nil, holder: ClientNetwork = .daemon, generation: UInt32 = 0
    ) {
        self.holder = holder
        self.name = name
        self.types = types
        self.route = route
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.scope = scope
        self.generation = generation
    }

    /// The same for another type.
    func asking(for type: RecordType) -> FlightKey {
        FlightKey(
            name: name, types: [type], route: route, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
            scope: scope, holder: holder, generation: generation)
    }

    /// The same for other clients.
    func asking(in scope: ClientScope?) -> FlightKey {
        FlightKey(
            name: name, types: types, route: route, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
            scope: scope, holder: holder, generation: generation)
    }
}

extension FlightKey: Hashable {
    package static func == (left: FlightKey, right: FlightKey) -> Bool {
        left === right
            || left.name == right.name && left.types == right.types && left.route == right.route
                && left.dnssecOK == right.dnssecOK && left.checkingDisabled == right.checkingDisabled
                && left.scope == right.scope && left.generation == right.generation
    }

    /// The rest tells apart what few names have at the same time.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(types.first)
        if let scope { hasher.combine(scope) }
    }
}
