public import DNSWire

/// Addresses that no answer for a protected name may hold, whatever its source: those that are configured as bogus,
/// and, if configured, those of local networks.
///
/// A public name with an address of the local network gives a browser's scripts access to hosts that only this network
/// should reach (DNS rebinding).
public struct AddressFilter: Sendable {
    /// TTL in seconds of a negative answer for a family whose addresses were all of local networks.
    private static let emptyTTL: UInt32 = 60

    private let bogus: [AddressPrefix]
    private let dropsPrivate: Bool
    private let privateNames: [Name]
    /// Whether every answer passes unchanged.
    let isEmpty: Bool

    /// - Parameters:
    ///   - bogus: networks whose addresses are dropped.
    ///   - dropsPrivate: whether loopback, link-local, private and unspecified addresses are dropped.
    ///   - privateNames: suffixes of names that may have them nevertheless.
    public init(bogus: [AddressPrefix] = [], dropsPrivate: Bool = false, privateNames: [Name] = []) {
        self.bogus = bogus
        self.dropsPrivate = dropsPrivate
        self.privateNames = privateNames
        isEmpty = bogus.isEmpty && !dropsPrivate
    }

    /// A source's result for one type of a flight, without its filtered addresses: when all were bogus the result is a
    /// failure; when all the rest were of local networks it is NODATA. HTTPS and SVCB lose their hints, whatever these hold.
    func admitted(_ result: UpstreamResult, _ type: RecordType, to key: FlightKey) -> UpstreamResult {
        guard !isEmpty, case .answer(let answer) = result else { return result }
        if type.isServiceBinding {
            return .answer(
                answer.withoutHints(type, keepsSigned: key.dnssecOK) ?? .negative(name: key.name, ttl: Self.emptyTTL))
        }
        guard answer.hasAddresses else { return result }
        var left = answer.keeping { !isBogus($0) }
        guard left.hasAddresses else { return .failure(.forged("every address is one of answers.bogus")) }
        if dropsPrivate, !privateNames.contains(where: { key.name.isWithin($0) }) {
            left = left.keeping { !$0.isLocal }
            guard left.hasAddresses else { return .answer(.negative(name: key.name, ttl: Self.emptyTTL)) }
        }
        return .answer(left)
    }

    private func isBogus(_ address: IPAddress) -> Bool {
        bogus.contains { $0.contains(address) } || address.ipv4Inside.map(isBogus) ?? false
    }
}

extension IPAddress {
    /// Whether the address is reachable only from this host or its network, as it is or by the IPv4 address in it.
    fileprivate var isLocal: Bool {
        isPrivate || isLoopback || isLinkLocal || isUnusual || ipv4Inside?.isLocal ?? false
    }

    /// Whether it is in 0.0.0.0/8, "this network" (RFC 6890), is ::, or in fec0::/10, which was for sites (RFC 3879).
    private var isUnusual: Bool {
        switch self {
        case .v4(let value): value >> 24 == 0
        case .v6(let value): value == 0 || value >> 118 == 0x3fb
        }
    }

    /// The IPv4 address for which an IPv6 one stands, to which systems or their networks send instead: mapped and compatible
    /// (RFC 4291 section 2.5.5), translated by the well-known prefix (RFC 6052), 6to4 (RFC 3056).
    fileprivate var ipv4Inside: IPAddress? {
        guard case .v6(let value) = self else { return nil }
        let last = UInt32(truncatingIfNeeded: value)
        switch value >> 32 {
        case 0 where last > 1, 0xffff, 0x64_ff9b << 64: return .v4(last)
        case _ where value >> 112 == 0x2002: return .v4(UInt32(truncatingIfNeeded: value >> 80))
        default: return nil
        }
    }
}

extension Answer {
    fileprivate var hasAddresses: Bool { answers.contains { $0.address != nil } }
}

extension Answer {
    /// The same answer with those of its addresses for which `isWanted` is true. A signature is valid for the whole RRset
    /// only: those of one that shrinks are removed too.
    func keeping(_ isWanted: (IPAddress) -> Bool) -> Answer {
        var rest = self
        rest.answers.removeAll { record in record.address.map { !isWanted($0) } ?? false }
        guard rest.answers.count < answers.count else { return self }
        rest.answers.removeAll { $0.coveredType?.isAddress == true }
        return rest
    }
}

extension Answer {
    /// An authenticated answer with HTTPS or SVCB records of a protected name, as a client gets it: without address hints.
    ///
    /// Hints reach browsers past A and AAAA, which they ask for anyway (RFC 9460 section 7.3), and past the routes of the
    /// names that they stand for. Everything else stays byte for byte, `ech` included: its keys come from the same source.
    ///
    /// - Parameter keepsSigned: whether the client has asked for signatures: a set that comes with its own passes whole.
    /// - Returns: nil when a record is malformed, which spoils its whole RRset (RFC 9460 section 2.2), or when none is left:
    ///   one that demands a hint (`mandatory`) is of no use without.
    func withoutHints(_ type: RecordType, keepsSigned: Bool) -> Answer? {
        var left = self
        left.answers = []
        for record in answers {
            guard record.type == type else {
                left.answers.append(record)
                continue
            }
            guard let binding = ServiceBinding(rdata: record.rdata) else { return nil }
            guard let bare = binding.withoutHints else { continue }
            var changed = record
            changed.rdata = bare.rdata
            left.answers.append(changed)
        }
        if keepsSigned, answers.contains(where: { $0.coveredType == type }) { return self }
        guard left.answers.contains(where: { $0.type == type }) || !answers.contains(where: { $0.type == type }) else {
            return nil
        }
        // A signature over what was changed is of no use.
        if left.answers != answers { left.answers.removeAll { $0.coveredType == type } }
        return left
    }
}

extension RecordType {
    /// Whether its records describe how to reach a service, with address hints (RFC 9460).
    var isServiceBinding: Bool { self == .https || self == .svcb }
}
