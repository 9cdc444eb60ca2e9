package import DNSWire

/// The usable part of an answer of LocalDNS after the check of its addresses.
package enum CheckedAnswer: Hashable, Sendable {
    /// Addresses that were verified to be the name's, and no others.
    case verified(Answer)
    /// Neither verified nor refuted.
    case unverified(Answer)
    /// Nothing of it may be used.
    case refused(UpstreamFailure)

    /// Applies the rule to an answer. Verified addresses and others are never mixed.
    ///
    /// - Parameter verdicts: an address that is missing counts as unchecked.
    package init(
        _ answer: Answer, for type: RecordType, verdicts: [IPAddress: AddressVerdict], level: CertificateRule.Level
    ) {
        guard !answer.isNegative(for: type) else {
            // A handshake cannot verify an NXDOMAIN or NODATA response.
            self =
                level == .strict
                ? .refused(.unusable("a LocalDNS that says there is nothing cannot be believed")) : .unverified(answer)
            return
        }
        let verified = answer.keeping { verdicts[$0] == .verified }
        let rest = answer.keeping { verdicts[$0]?.speaksAgainst != true }
        self =
            if !verified.addresses.isEmpty {
                .verified(verified)
            } else if level == .lenient, !rest.addresses.isEmpty {
                .unverified(rest)
            } else if verdicts.values.contains(.forged) {
                .refused(.forged("the addresses of LocalDNS show certificates that are not the name's"))
            } else {
                .refused(.unusable(Self.reason(against: verdicts)))
            }
    }
}

extension CheckedAnswer {
    /// The source of the answer.
    var source: Source { if case .verified = self { .verifiedLocalDNS } else { .localDNS } }

    /// The answer as far as it may be used; nil when it may not.
    var answer: Answer? {
        switch self {
        case .verified(let answer), .unverified(let answer): answer
        case .refused: nil
        }
    }

    private static func reason(against verdicts: [IPAddress: AddressVerdict]) -> String {
        if verdicts.values.contains(.discredited) {
            "the addresses of LocalDNS show wrong certificates for other names"
        } else if verdicts.values.contains(.unreachable) {
            "the addresses of LocalDNS cannot be reached, so nothing verifies them"
        } else {
            "nothing verifies the addresses of LocalDNS"
        }
    }
}

extension AddressVerdict {
    /// Whether the address is not used, even where no verification is needed.
    fileprivate var speaksAgainst: Bool {
        switch self {
        case .forged, .unreachable, .discredited: true
        case .verified, .wrongTime, .noTLS, .unclear, .unchecked: false
        }
    }
}

extension Answer {
    /// The same answer with those of its addresses for which `isWanted` is true; the signatures of an RRset that
    /// shrinks are removed too.
    package func keeping(_ isWanted: (IPAddress) -> Bool) -> Answer {
        var rest = self
        rest.answers.removeAll { record in record.address.map { !isWanted($0) } ?? false }
        guard rest.answers.count < answers.count else { return self }
        rest.answers.removeAll { $0.coveredType?.isAddress == true }
        return rest
    }
}
