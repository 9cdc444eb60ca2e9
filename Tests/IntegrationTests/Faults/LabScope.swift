import Synchronization
import TestSupport
import Testing

/// Gives the tests of a suite one lab together.
struct LabScope: SuiteTrait, TestScoping {
    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await LabSession.$current.withValue(LabSession()) { try await function() }
    }
}

extension Trait where Self == LabScope {
    /// One lab for all tests of the suite, in `LabSession.current`.
    static var inLab: Self { LabScope() }
}

/// A lab, and what was seen in it that more than one test looks at.
final class LabSession: Sendable {
    @TaskLocal static var current: LabSession?

    let lab: Lab
    private let outages = Mutex<[Outage.Kind: Outage]>([:])

    init() throws { lab = try Lab() }

    /// What happens in such an outage; made to happen when it is first asked for.
    func outage(_ kind: Outage.Kind) throws -> Outage {
        if let known = outages.withLock({ $0[kind] }) { return known }
        let outage = try Outage(kind, in: lab)
        outages.withLock { $0[kind] = outage }
        return outage
    }
}
