import DNSWire
import Testing

@testable import DNSResolver

/// What becomes of one family's result, for each state of the other family.
struct ReconciliationTests {
    private static let provider: UInt16 = 0x8001
    private static let other: UInt16 = 0x8002

    struct Row: Sendable {
        let own: Reconciliation.Own
        /// Without addresses of the other family; with those of the same provider, and of another source; and the last
        /// where the other family is preferred.
        let alone: Reconciliation
        let same: Reconciliation
        let others: Reconciliation
        let preferred: Reconciliation
    }

    private static let table = [
        Row(own: .answer, alone: .unchanged, same: .unchanged, others: .unchanged, preferred: .suppressed),
        Row(own: .denial, alone: .unchanged, same: .exists, others: .exists, preferred: .exists),
        Row(
            own: .emptiness(provider: provider), alone: .unchanged, same: .empty, others: .unchanged,
            preferred: .unchanged),
        Row(own: .failure, alone: .unchanged, same: .failedFamily, others: .failedFamily, preferred: .failedFamily),
    ]

    @Test(arguments: table) func `a family's result depends on the other one by this table`(row: Row) {
        #expect(Reconciliation(row.own, other: nil, isSuppressed: true) == row.alone)
        #expect(Reconciliation(row.own, other: Self.provider, isSuppressed: false) == row.same)
        #expect(Reconciliation(row.own, other: Self.other, isSuppressed: false) == row.others)
        #expect(Reconciliation(row.own, other: Self.other, isSuppressed: true) == row.preferred)
    }
}
