import DNSWire
import Foundation
import TestSupport
import Testing

/// Randomly generated worlds, in which each answer is checked against the documents.
///
/// HTTPDNSD_WORLDS: the number of worlds; by default 1,000, and 10,000 where HTTPDNSD_THOROUGH=1. HTTPDNSD_WORLD: the
/// number of the first one, by default 0; a world has the same number in every run.
@Suite(.onLoop) struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let first = environment["HTTPDNSD_WORLD"].flatMap { UInt64($0) } ?? 0
    private static let isThorough = environment["HTTPDNSD_THOROUGH"] == "1"
    private static let count = environment["HTTPDNSD_WORLDS"].flatMap { UInt64($0) } ?? (isThorough ? 10_000 : 1_000)
    /// The number of failing worlds that are reported.
    private static let reportLimit = 5

    @Test @Loop func `in no world is an answer given, missing or asked for that the documents forbid`() async {
        var failed = 0
        for seed in Self.first..<(Self.first + Self.count) {
            let plan = SimulationPlan(seed: seed)
            let faults = await Self.faults(of: plan)
            guard let fault = faults.first else { continue }
            failed += 1
            let shrunk = await Shrinking.shrunk(plan, kind: fault.kind)
            let (again, chronicle) = await Self.report(on: shrunk)
            Issue.record(
                "world \(seed): \((again.isEmpty ? faults : again).joined(separator: "\n"))\n\(shrunk.text)\n\(chronicle)"
            )
            if failed == Self.reportLimit { return }
        }
    }
}

extension SimulationTests {
    @Loop
    fileprivate static func faults(of plan: SimulationPlan) async -> [String] { await SimulatedWorld(plan).play() }

    /// The same, and what was asked and answered in the world.
    @Loop
    fileprivate static func report(on plan: SimulationPlan) async -> (faults: [String], chronicle: String) {
        let world = SimulatedWorld(plan, isForReaders: true)
        return (await world.play(), world.chronicle.text)
    }
}

/// Removes from a plan what a fault does not need.
@Loop
private enum Shrinking {
    static func shrunk(_ plan: SimulationPlan, kind: Substring) async -> SimulationPlan {
        var plan = plan
        var size = plan.steps.count
        while size > 0 {
            var start = 0
            while start < plan.steps.count {
                var smaller = plan
                smaller.steps.removeSubrange(start..<min(start + size, plan.steps.count))
                if await SimulationTests.faults(of: smaller).contains(where: { $0.kind == kind }) {
                    plan = smaller
                } else {
                    start += size
                }
            }
            size /= 2
        }
        return plan
    }
}

extension String {
    /// The kind of a fault: the part before its colon.
    fileprivate var kind: Substring { prefix { $0 != ":" } }
}

extension SimulationPlan {
    /// The whole plan, for readers of a report.
    fileprivate var text: String {
        var lines = providers.enumerated().map { "provider \($0): \($1)" }
        lines += policies.enumerated().map { "policy \($0): \($1)" }
        lines += conducts.enumerated().map { "server \($0): \($1)" }
        lines += attacks.enumerated().map { "attack \($0): \($1)" }
        lines += steps.map { "step \($0)" }
        return lines.joined(separator: "\n")
    }
}
