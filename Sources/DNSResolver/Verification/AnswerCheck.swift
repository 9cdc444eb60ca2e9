import DNSCache
package import DNSWire
package import Scheduling

/// Checks the addresses that LocalDNS gives for protected names (Documentation/Strategy.md, section 4).
@Loop
package final class AnswerCheck {
    /// Addresses of one answer that are checked; a forged response may hold thousands.
    package nonisolated static let addressLimit = 8
    package nonisolated let rule: CertificateRule
    private let check: any AddressCheck
    private let timeOfDay: TimeOfDay?

    /// - Parameter timeOfDay: nil: it always is right.
    package nonisolated init(
        rule: CertificateRule, check: any AddressCheck, timeOfDay: TimeOfDay? = nil
    ) {
        self.rule = rule
        self.check = check
        self.timeOfDay = timeOfDay
    }

    /// Whether the clock cannot be right.
    var isClockDoubtful: Bool { timeOfDay?.doubt != nil }

    /// The recorded forgeries for a name in lower case, the one seen last first.
    func evidence(of name: Name) -> [HijackedAddress] { check.evidence(of: name) }

    /// The verdict on an address that LocalDNS gives for a name.
    ///
    /// - Parameter server: that gave it.
    func verdict(
        on address: IPAddress, to key: FlightKey, from server: String, until deadline: Instant
    ) async -> AddressVerdict {
        await check.verdict(on: address, for: key.name, from: server, holder: key.holder, until: deadline)
    }

    /// The addresses of an answer, each once.
    nonisolated static func distinctAddresses(of answer: Answer) -> [IPAddress] {
        var seen: Set<IPAddress> = []
        return answer.addresses.filter { seen.insert($0).inserted }
    }
}

/// The result of a TLS handshake with an address: whether the address belongs to a name.
package enum AddressVerdict: Hashable, Sendable {
    /// Its certificate is valid for the name.
    case verified
    /// It shows a certificate that is not: the address is discarded.
    case forged
    /// Its certificate is valid for the name but for its time.
    case wrongTime
    /// It speaks no TLS: refused, silent, or mute.
    case noTLS
    /// Another failure, such as plain HTTP or a reset: neither verified nor forged.
    case unclear
    /// The address is unreachable from here: no verdict, and of no use to programs on this host either.
    case unreachable
    /// There was no time or no room for a check.
    case unchecked
    /// Unchecked, and for other names of the same owner it has lately shown wrong certificates and no right one.
    case discredited
}

/// Checks whether addresses belong to a name.
@Loop
package protocol AddressCheck: AnyObject, Sendable {
    /// Checks whether the server at `address` shows a certificate of the name; `.unchecked` or `.discredited` at
    /// `deadline`, and not before unless the task is cancelled.
    ///
    /// - Parameters:
    ///   - server: the server of LocalDNS that gave the address.
    ///   - holder: the client network whose fair share of the checks it counts against.
    func verdict(
        on address: IPAddress, for name: Name, from server: String, holder: ClientNetwork, until deadline: Instant
    ) async -> AddressVerdict

    /// The recorded forgeries for a name in lower case, the one seen last first.
    func evidence(of name: Name) -> [HijackedAddress]
}

/// How strictly addresses that LocalDNS gives for protected names are checked: `[localdns] certificate_check` and
/// `unverified`.
package struct CertificateRule: Hashable, Sendable {
    /// `[localdns] certificate_check`.
    package enum Setting: Hashable, Sendable {
        /// Strict for names in a list, lenient for the rest. The default.
        case auto
        case strict, lenient, off
    }

    package let setting: Setting
    /// Suffixes whose servers have no TLS.
    package let unverified: [Name]

    package init(_ setting: Setting = .auto, unverified: [Name] = []) {
        self.setting = setting
        self.unverified = unverified
    }
}

/// Makes TLS handshakes with servers, to verify their certificates.
@Loop
package protocol Handshake: AnyObject, Sendable {
    /// Makes one, with the name as SNI and as the name that the certificate must carry. Ends by `deadline`, and at once
    /// when the task is cancelled.
    func shakeHands(with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant) async
        -> HandshakeOutcome
}

/// How a handshake ended.
package enum HandshakeOutcome: Hashable, Sendable {
    /// The certificate is valid for the name.
    case verified
    /// It is not.
    case wrongCertificate(CertificateEvidence)
    /// It is but for its time: this machine's clock may be wrong, or the site's operator may have renewed late. The reason
    /// is for logs.
    case wrongTime(String)
    /// The connection was refused.
    case noTLS
    /// There was no response at all in time: not even a TCP connection.
    case silent
    /// There was a TCP connection, and no TLS in time: perhaps for this name alone.
    case mute
    /// The address is unreachable from here, which says nothing about the server.
    case unreachable
    /// Anything else; the reason is for logs.
    case unclear(String)
    /// It was cancelled: nothing is known.
    case cancelled
}
