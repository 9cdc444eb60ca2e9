import Synchronization
import TestServers
import Testing

/// Gives the tests of a suite one shared lab.
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

/// A lab, and the results in it that more than one test checks.
final class LabSession: Sendable {
    @TaskLocal static var current: LabSession?

    let lab: Lab
    private let outages = Mutex<[Outage.Kind: Outage]>([:])

    init() throws { lab = try Lab() }

    /// The results of such an outage, which is run when they are first requested.
    func outage(_ kind: Outage.Kind) throws -> Outage {
        if let known = outages.withLock({ $0[kind] }) { return known }
        let outage = try Outage(kind, in: lab)
        outages.withLock { $0[kind] = outage }
        return outage
    }
}
