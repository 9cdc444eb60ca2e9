import Foundation
import TestServers
import TestSupport

/// What clients received while HTTPDNS was cut off in the middle of a run of look-ups, and after it came back.
struct Outage: Sendable {
    /// The kind of an outage.
    struct Kind: Hashable, Sendable, CustomStringConvertible {
        let cut: Lab.Cut
        /// The hijacked resolver that answers instead of LocalDNS; nil: the honest LocalDNS answers.
        let hijacker: Lab.Hijacker?

        var description: String { "\(cut), LocalDNS \(hijacker.map { "hijacked, \($0)" } ?? "honest")" }

        /// Names never asked for before. Each makes two look-ups, and warm names make as many: with HTTPDNSD_THOROUGH 10,000 in
        /// all outages of the first cut, half of them with the honest LocalDNS; else, and in those of the other cut, a fifth.
        var coldNames: Int {
            let names =
                switch hijacker {
                case nil: 1_250
                case .wrongCertificate, .refusing: 525
                // This one takes the longest to be detected.
                case .silent: 200
                }
            return cut == .drop && Integration.isThorough ? names : names / 5
        }

        /// Names asked for before.
        var warmNames: Int { coldNames / Outage.rounds }

        /// The number of look-ups under way at a time.
        var window: Int {
            // Every honest address is checked, and a slow machine must keep up. Where LocalDNS is hijacked, clients
            // wait until their time is over.
            hijacker == nil ? 32 : 128
        }
    }

    /// How often each warm name is asked for during the run.
    private static let rounds = 5
    /// The percentage of look-ups before the cut.
    private static let percentBefore = 10

    /// Look-ups of names asked for before the run.
    let warm: [LabLookup]
    /// Look-ups of names never asked for before, one of each family.
    let cold: [LabLookup]
    /// The time from HTTPDNS's return until the last of these names was right and fresh. Nil: some never were, or LocalDNS
    /// was honest: then its answer may correctly stay.
    let recovery: (warm: Duration?, cold: Duration?)

    init(_ kind: Kind, in lab: Lab) throws {
        let daemon = try lab.startDaemon()
        defer { withExtendedLifetime(daemon) {} }
        try lab.hijack(kind.hijacker)
        defer {
            try? lab.hijack(nil)
            try? lab.cutHTTPDNS(nil)
            lab.moveSite(false)
        }
        let warmNames = try lab.newNames(kind.warmNames)
        let coldNames = try lab.newNames(kind.coldNames)
        let client = try BulkClient(daemon.address, window: kind.window, namespace: lab.machine.namespace)
        let warming = try LabLookup.ask(Self.both(warmNames), client)
        guard warming.allSatisfy({ $0.verdict == .right }) else { throw TestFailure("the warming went wrong") }

        let warm = (0..<Self.rounds).flatMap { _ in Self.both(warmNames) }
        let cold = Self.both(coldNames)
        let questions = zip(warm, cold).flatMap { [$0, $1] }
        let cutAt = questions.count * Self.percentBefore / 100
        let lookups = try LabLookup.ask(questions, client) { if $0 == cutAt { try lab.cutHTTPDNS(kind.cut) } }
        self.warm = stride(from: 0, to: lookups.count, by: 2).map { lookups[$0] }
        self.cold = stride(from: 1, to: lookups.count, by: 2).map { lookups[$0] }

        try lab.cutHTTPDNS(nil)
        guard kind.hijacker != nil else {
            recovery = (nil, nil)
            return
        }
        // Fresh answers now differ from all earlier ones.
        lab.moveSite(true)
        let (warmAgain, coldAgain) = (Self.both(warmNames), Self.both(coldNames.suffix(100)))
        let times = try Self.recovery(of: warmAgain + coldAgain, client)
        recovery = (Self.latest(times.prefix(warmAgain.count)), Self.latest(times.suffix(coldAgain.count)))
    }

    /// Each name with both address types.
    private static func both(_ names: [LabName]) -> [LabLookup.Question] {
        names.flatMap { [.init(name: $0, type: RecordType.a), .init(name: $0, type: RecordType.aaaa)] }
    }

    /// Asks repeatedly until each answer has once been the moved site's.
    ///
    /// - Returns: the time until then; nil: it has not been.
    private static func recovery(of questions: [LabLookup.Question], _ client: BulkClient) throws -> [Duration?] {
        let start = client.now
        var times = [Duration?](repeating: nil, count: questions.count)
        while client.now - start < .patience {
            let missing = times.indices.filter { times[$0] == nil }
            guard !missing.isEmpty else { break }
            for (index, lookup) in zip(missing, try LabLookup.ask(missing.map { questions[$0] }, client)) {
                if lookup.verdict == .moved { times[index] = lookup.lookup.answered.map { $0 - start } }
            }
            // Only saves processor time: there is no event but the answers themselves.
            Thread.sleep(forTimeInterval: 0.05)
        }
        return times
    }

    /// The greatest of all; nil if one is nil.
    private static func latest(_ times: ArraySlice<Duration?>) -> Duration? {
        let known = times.compactMap(\.self)
        return known.count == times.count ? known.max() : nil
    }
}
