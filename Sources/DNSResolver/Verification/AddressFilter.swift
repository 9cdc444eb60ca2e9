package import DNSWire

/// Addresses that no answer for a protected name holds, whatever its source: those that the configuration calls bogus, and,
/// where it says so, those of local networks.
///
/// A public name with an address of the local network leads a browser's scripts to what only this network should reach (DNS
/// rebinding).
package struct AddressFilter: Sendable {
    /// Seconds for which a name has no address of a family when all were of local networks.
    private static let emptyTTL: UInt32 = 60

    private let bogus: [AddressPrefix]
    private let dropsPrivate: Bool
    private let privateNames: [Name]
    /// Whether every answer passes as it is.
    let isEmpty: Bool

    /// - Parameters:
    ///   - bogus: networks whose addresses are dropped.
    ///   - dropsPrivate: whether loopback, link-local, private and unspecified addresses are dropped.
    ///   - privateNames: suffixes of names that may have them all the same.
    package init(bogus: [AddressPrefix] = [], dropsPrivate: Bool = false, privateNames: [Name] = []) {
        self.bogus = bogus
        self.dropsPrivate = dropsPrivate
        self.privateNames = privateNames
        isEmpty = bogus.isEmpty && !dropsPrivate
    }

    /// What a provider said of a name, with what is left of its addresses.
    func admitted(_ reply: UpstreamReply, to name: Name) -> UpstreamReply {
        var reply = reply
        for type in [RecordType.a, .aaaa] {
            if let result = reply.results[type] { reply.results[type] = admitted(result, to: name) }
        }
        return reply
    }

    /// What a source said of a name and one type, with what is left of its addresses: a source that gave bogus ones alone has
    /// not answered; a name that has only those of local networks has none.
    func admitted(_ result: UpstreamResult, to name: Name) -> UpstreamResult {
        guard !isEmpty, case .answer(var answer) = result, answer.hasAddresses else { return result }
        let count = answer.answers.count
        answer.answers.removeAll { $0.address.map(isBogus) ?? false }
        guard answer.hasAddresses else { return .failure(.forged("every address is one of answers.bogus")) }
        if dropsPrivate, !privateNames.contains(where: { name.isWithin($0) }) {
            answer.answers.removeAll { $0.address?.isLocal ?? false }
            guard answer.hasAddresses else { return .answer(.negative(name: name, ttl: Self.emptyTTL)) }
        }
        // A signature holds for all the addresses or for none.
        if answer.answers.count < count { answer.answers.removeAll { $0.coveredType?.isAddress ?? false } }
        return .answer(answer)
    }

    private func isBogus(_ address: IPAddress) -> Bool { bogus.contains { $0.contains(address) } }
}

extension IPAddress {
    /// Whether only this machine or its network has it.
    fileprivate var isLocal: Bool { isPrivate || isLoopback || isLinkLocal || isWildcard }
}

extension Answer {
    fileprivate var hasAddresses: Bool { answers.contains { $0.address != nil } }
}
