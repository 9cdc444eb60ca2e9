import Foundation
import TestServers
import TestSupport

@testable import IntegrationTests

/// Clients that ask for new names, each below a domain of its own, 20 a second in all.
struct Crowd {
    private let members: [Traffic]

    /// Starts asking.
    init(_ prefix: String, at stage: DoHStage, by watch: Stopwatch) throws {
        members = try (1...4).map { client in
            try Traffic(stage.daemon, from: "127.0.8.\(client)", every: .milliseconds(200), by: watch) {
                "www.\(prefix)\(client)x\($0).example"
            }
        }
    }

    func stop() throws -> [Traffic.Lookup] { try members.flatMap { try $0.stop() } }

    /// Waits until any look-up fulfils a condition.
    func wait(until holds: (Traffic.Lookup) -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .patience
        while ContinuousClock.now < deadline {
            for member in members
            where member.wait(within: .milliseconds(10), until: { $0.contains(where: holds) }) { return true }
        }
        return false
    }
}

extension DoHStage {
    /// Asks for names, each below a domain of its own, one after the other.
    ///
    /// - Returns: each reply, and its time.
    func ask(_ names: [String], by watch: Stopwatch) throws -> [Traffic.Lookup] {
        try names.map { name in
            try Traffic(daemon, from: "127.0.7.1", every: .zero, count: 1, by: watch) { _ in name }.finish()[0]
        }
    }
}

extension Traffic.Lookup {
    var isProviders: Bool { reply?.addresses == [FakeDoH.address] }

    /// A description for reports: the answer, and its time.
    var text: String {
        guard let reply, let time else { return "\(name): no reply" }
        return "\(name): \(reply.addresses) rcode \(reply.rcode) EDE \(reply.extendedErrors) after \(time)"
    }
}

extension [Traffic.Lookup] {
    /// The number of look-ups that did not get the provider's address in time, with the first of them; empty if there
    /// are none.
    var surprises: [String] {
        let wrong = filter { !$0.isProviders || $0.time ?? .patience > Timing.promised }
        return wrong.first.map { ["\(wrong.count) of \(count), as \($0.text)"] } ?? []
    }

    /// The median of the times that clients waited.
    var medianTime: Duration {
        let times = map { $0.time ?? .patience }.sorted()
        return times.isEmpty ? .patience : times[times.count / 2]
    }
}
