package import DNSWire
package import Scheduling

/// What a TLS handshake with an address says of whose address it is.
package enum AddressVerdict: Hashable, Sendable {
    /// Its certificate is valid for the name.
    case verified
    /// It shows a certificate that is not: the address is thrown away.
    case forged
    /// It speaks no TLS: refused, or silent.
    case noTLS
    /// Something else went wrong, such as plain HTTP or a reset: no proof, and no lie either.
    case unclear
    /// There is no way there from here: no verdict, and of no use to programs of this machine either.
    case unreachable
    /// There was no time or no room to look.
    case unchecked
    /// The same, and for other names it has lately shown wrong certificates and no right one.
    case discredited
}

/// Tells whether addresses belong to a name.
@Loop
package protocol AddressCheck: AnyObject, Sendable {
    /// Looks whether the server at `address` proves to be the name's; `.unchecked` or `.discredited` at `deadline`, and not
    /// before unless the task is cancelled.
    ///
    /// - Parameters:
    ///   - isFirst: whether it is the first address of an answer, which goes before further ones of others.
    ///   - holder: the client network in whose share of the checks it is.
    func verdict(
        on address: IPAddress, for name: Name, isFirst: Bool, holder: ClientNetwork, until deadline: Instant
    ) async -> AddressVerdict

    /// Has a check that is under way go on while there is room, though nothing waits for it any more.
    func goOn(_ address: IPAddress, for name: Name)

    /// What was found out lately; nil when nothing was.
    func known(_ address: IPAddress, for name: Name) -> AddressVerdict?

    /// Has `found` called when a check that is under way, or waits for its turn, finds out that the address is not the name's.
    /// Begins none, and keeps none going.
    func watch(_ address: IPAddress, for name: Name, found: @escaping @Loop () -> Void)

    /// The lies about a name in lower case that were written down, the one seen last first.
    func evidence(of name: Name) -> [HijackJournal.Entry]
}
