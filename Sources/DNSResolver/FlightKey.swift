package import DNSWire

/// What makes two questions the same piece of work upstream.
package struct FlightKey: Hashable, Sendable {
    /// Lower-cased. The class is always IN.
    package var name: Name
    /// A and AAAA together where one call brings both ("twins"), else one type.
    package var types: [RecordType]
    package var route: Route
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// For which clients it is asked, where a provider of the name is told their networks; nil: for all.
    package var scope: ClientScope?
    /// The policy's, so that nobody joins a flight of an older policy, or hears of its failure.
    package var generation: UInt32

    /// The rest tells apart what few names have at the same time.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(types.first)
        if let scope { hasher.combine(scope) }
    }

    /// Whether it asks for signatures, or for a client who checks them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// Whether it asks for HTTPS or SVCB, whose address hints stand beside A and AAAA (RFC 9460).
    var isServiceBinding: Bool { types.count == 1 && types[0].isServiceBinding }

    package init(
        name: Name, types: [RecordType], route: Route, dnssecOK: Bool, checkingDisabled: Bool,
        scope: ClientScope? = nil, generation: UInt32 = 0
    ) {
        self.name = name
        self.types = types
        self.route = route
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.scope = scope
        self.generation = generation
    }
}
