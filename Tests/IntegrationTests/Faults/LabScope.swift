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

/// The lab of a suite.
final class LabSession: Sendable {
    @TaskLocal static var current: LabSession?

    let lab: Lab

    init() throws { lab = try Lab() }
}
