// Any request of a client of the control socket: a line `METHOD PATH?KEY=VALUE&…`, and behind
// it the body. The response has a documented status and is one object. What is refused changes nothing, GET never changes
// anything, and what is accepted is within its limits.

@testable import Admin
@testable import DNSServer
import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

func fuzzControlRequest(_ input: [UInt8]) {
    let request = HTTPServerRequest(script: input)
    onLoop {
        let target = Target()
        var response: HTTPServerResponse?
        Loop.spawn { response = await ControlAPI(target: target).response(to: request) }
        while Loop.executor.runJobs() {}
        guard let response else { preconditionFailure("no response") }
        check(response, to: request, target)
    }
}

@Loop
private func check(_ response: HTTPServerResponse, to request: HTTPServerRequest, _ target: Target) {
    precondition([200, 400, 404, 405].contains(response.status.rawValue), "a status that is not documented")
    precondition(target.reads + target.changes <= 1, "one request did several things")
    if let feed = response.feed {
        precondition(response.status == .ok && request.method == .get, "a stream of what was refused")
        return precondition(feed.next() == "", "queries out of nothing")
    }
    precondition(response.body.last == UInt8(ascii: "\n"), "no end of the line")
    precondition(hasError(response.body) == (response.status != .ok), "an error without a text, or a text without one")
    precondition(target.changes == 0 || request.method == .post, "\(request.method) changed something")
    precondition(target.changes == 0 || response.status == .ok, "what was refused changed something")
}

/// Whether the only object of a body has a text for its error.
private func hasError(_ body: [UInt8]) -> Bool {
    var error = ""
    do throws(JSONError) {
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in if key == "error" { error = try reader.string() } }
        }
    } catch {
        preconditionFailure("not one object")
    }
    return !error.isEmpty
}

extension HTTPServerRequest {
    /// - Parameter script: the line, and behind it the body.
    fileprivate init(script: [UInt8]) {
        let parts = script.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let line = parts[0].split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
        self.init(body: Array(parts.dropFirst().first?.prefix(ControlAPI.bodyLimit) ?? []))
        setMethod(line[0])
        _ = setTarget(line.dropFirst().first ?? [])
    }
}

/// Counts its calls, and checks that their values are within the limits.
@Loop
private final class Target: ControlTarget {
    private(set) var reads = 0
    private(set) var changes = 0

    nonisolated init() {}

    var status: StatusReport {
        reads += 1
        return StatusReport()
    }

    func testimony(of status: StatusReport) -> [[String]] { [] }

    func cached(below suffix: Name?, limit: Int, cursor: String?, withRecords: Bool) async -> CacheReport? {
        reads += 1
        precondition((1...ControlAPI.pageLimit).contains(limit), "a page of \(limit) answers")
        precondition(suffix == suffix?.lowercased, "a name with capital letters")
        return cursor?.isEmpty == true ? nil : CacheReport()
    }

    func cached(_ name: Name) async -> CacheReport {
        reads += 1
        precondition(name == name.lowercased, "a name with capital letters")
        return CacheReport()
    }

    func why(_ name: Name) -> WhyReport {
        reads += 1
        precondition(name == name.lowercased, "a name with capital letters")
        return WhyReport(lines: [])
    }

    func trace(_ question: Question) async -> TraceReport {
        changes += 1
        precondition(question.name == question.name.lowercased && !question.type.isMeta, "a question of \(question)")
        return TraceReport()
    }

    var querySources: [String] { ["cache", "aliyun", "-"] }

    func listen(for filter: QueryFilter) -> QueryListener? {
        reads += 1
        precondition(filter.suffix == filter.suffix?.lowercased, "a name with capital letters")
        precondition(filter.slower.map { (.zero ... .seconds(60)).contains($0) } ?? true, "slower than \(filter)")
        return QueryListener(filter, clock: StillClock())
    }

    func flush(_ what: AnswerRemoval) async -> Int {
        changes += 1
        return 0
    }

    func turn(on isOn: Bool) -> SwitchReport {
        changes += 1
        return SwitchReport(isOn: true, isOffByPolicy: false, isStored: true, generation: 0)
    }

    var badAddresses: BadAddressReport {
        reads += 1
        return BadAddressReport(addresses: [], removed: 0)
    }

    func reportBad(_ address: IPAddress, lifetime: Duration) async -> BadAddressReport {
        changes += 1
        precondition(BadAddresses.lifetimes.contains(lifetime), "a report for \(lifetime)")
        return BadAddressReport(addresses: [], removed: 0)
    }

    func forgetBad(_ address: IPAddress) -> BadAddressReport? {
        changes += 1
        return BadAddressReport(addresses: [], removed: 0)
    }

    func handOver() async -> Int? {
        changes += 1
        return 0
    }

    func tryReload() async -> ReloadReport {
        reads += 1
        return ReloadReport()
    }

    func reload() async -> ReloadReport {
        changes += 1
        return ReloadReport()
    }
}

/// A clock on which no time passes.
@Loop
private final class StillClock: LoopClock {
    let now = Instant(nanoseconds: 0)

    nonisolated init() {}

    func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer { LoopTimer(body) }
}
