@testable import Configuration
import Testing

/// Which documents a machine takes.
struct PolicyDecisionTests {
    private let now: Int64 = 1_800_000_000

    private func decision(
        _ policy: SignedPolicy, after present: SignedPolicy?, now: Int64? = nil, isForMachine: Bool = true
    ) -> PolicyDecision {
        PolicyDecision(on: policy, after: present, now: now ?? self.now, isForMachine: isForMachine)
    }

    /// Why it is refused; nil when it is not.
    private func refusal(_ decision: PolicyDecision) -> String? {
        if case .refuse(let text) = decision { text } else { nil }
    }

    @Test func `the first document is taken, one with a higher serial, and no older one, which may be replayed`() throws
    {
        let (old, new) = (try PolicyFile.policy("", serial: 7), try PolicyFile.policy("", serial: 8))
        #expect(decision(old, after: nil) == .take && decision(new, after: old) == .take)
        #expect(
            try #require(refusal(decision(old, after: new))).hasPrefix("has the serial 7, and this machine has had 8"))
    }

    @Test func `the same document changes nothing, also once expired; another of its serial is refused`() throws {
        let (policy, other) = (try PolicyFile.policy(""), try PolicyFile.policy("switch = \"off\""))
        #expect(decision(policy, after: policy) == .same && decision(policy, after: policy, now: .max) == .same)
        #expect(refusal(decision(other, after: policy)) != nil)
    }

    @Test func `a document is taken until it expires, and only by machines that it is for`() throws {
        let policy = try PolicyFile.policy("")
        #expect(decision(policy, after: nil, now: policy.document.expires - 1) == .take)
        #expect(refusal(decision(policy, after: nil, now: policy.document.expires)) != nil)
        // It is not refused either.
        #expect(decision(policy, after: nil, isForMachine: false) == .elsewhere)
    }

    @Test func `a share grows by machines, and those that are in it stay`() throws {
        for share in [1, 10, 50, 99] {
            let document = try PolicyFile.policy("share = \(share)").document
            #expect((0..<100).filter { document.isFor(percentile: $0, labels: []) } == Array(0..<share))
        }
        #expect((0..<100).allSatisfy { PolicyDocument().isFor(percentile: $0, labels: []) })
    }

    @Test func `one label in common is enough, and without any a machine is left out`() throws {
        let document = try PolicyFile.policy("labels = [\"canary\", \"lab\"]").document
        #expect(document.isFor(percentile: 99, labels: ["frankfurt", "lab"]))
        #expect(!document.isFor(percentile: 0, labels: ["frankfurt"]))
        #expect(!document.isFor(percentile: 0, labels: []))
    }
}
