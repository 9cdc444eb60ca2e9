/// What becomes of one address family's result, given what is known of the name's other family.
///
/// Clients look both families up and treat a name as one: a failure or NXDOMAIN of one family makes the C library drop
/// the addresses of the other one. The one place where families depend on each other; DNS64, which makes one of the
/// other, is in `Translation`.
enum Reconciliation: Hashable {
    /// It stays as it is.
    case unchanged
    /// NODATA, in favour of the other family (`answers.prefer`).
    case suppressed
    /// NODATA instead of NXDOMAIN: the name exists. Broken load balancers deny the family that they do not have.
    case exists
    /// NODATA by the provider that called the family empty: it knows the name.
    case empty
    /// NODATA for a few seconds instead of a failure.
    case failedFamily

    /// What the family's own question brought.
    enum Own: Hashable {
        /// Records or NODATA.
        case answer
        /// NXDOMAIN.
        case denial
        /// An indeterminate empty response of the provider with this number.
        case emptiness(provider: UInt16)
        /// No answer.
        case failure
    }

    /// - Parameters:
    ///   - other: the number of the source whose addresses of the other family are fresh; nil: there are none.
    ///   - isSuppressed: whether clients are to use the other family where there is one.
    init(_ own: Own, other: UInt16?, isSuppressed: Bool) {
        self =
            switch (own, other) {
            case (_, nil): .unchanged
            case (.answer, _?): isSuppressed ? .suppressed : .unchanged
            case (.denial, _?): .exists
            case (.emptiness(let provider), let source?): provider == source ? .empty : .unchanged
            case (.failure, _?): .failedFamily
            }
    }
}
