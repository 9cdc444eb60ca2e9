package import DNSWire
package import Scheduling

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
