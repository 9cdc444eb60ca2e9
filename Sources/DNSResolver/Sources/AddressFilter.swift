package import DNSWire

/// Addresses that no answer for a protected name may hold, whatever its source: those that are configured as bogus,
/// and, if configured, those of local networks.
///
/// A public name with an address of the local network gives a browser's scripts access to hosts that only this network
/// should reach (DNS rebinding).
package struct AddressFilter: Sendable {
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
    package init(bogus: [AddressPrefix] = [], dropsPrivate: Bool = false, privateNames: [Name] = []) {
        self.bogus = bogus
        self.dropsPrivate = dropsPrivate
        self.privateNames = privateNames
        isEmpty = bogus.isEmpty && !dropsPrivate
    }

    /// A provider's reply for a name, without its filtered addresses.
    func admitted(_ reply: UpstreamReply, to name: Name) -> UpstreamReply {
        var reply = reply
        for type in [RecordType.a, .aaaa] {
            if let result = reply.results[type] { reply.results[type] = admitted(result, to: name) }
        }
        return reply
    }

    /// A source's result for a name and one type, without its filtered addresses: when all were bogus the result is a
    /// failure; when all the rest were of local networks it is NODATA.
    func admitted(_ result: UpstreamResult, to name: Name) -> UpstreamResult {
        guard !isEmpty, case .answer(var answer) = result, answer.hasAddresses else { return result }
        let count = answer.answers.count
        answer.answers.removeAll { $0.address.map(isBogus) ?? false }
        guard answer.hasAddresses else { return .failure(.forged("every address is one of answers.bogus")) }
        if dropsPrivate, !privateNames.contains(where: { name.isWithin($0) }) {
            answer.answers.removeAll { $0.address?.isLocal ?? false }
            guard answer.hasAddresses else { return .answer(.negative(name: name, ttl: Self.emptyTTL)) }
        }
        // A signature is valid for the whole RRset only.
        if answer.answers.count < count { answer.answers.removeAll { $0.coveredType?.isAddress ?? false } }
        return .answer(answer)
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
