// Any request of a client of the control socket: a line `METHOD PATH?KEY=VALUE&…`, and behind
// it the body. The response has a documented status and is one object. What is refused changes nothing, GET never changes
// anything, and what is accepted is within its limits.

@testable import Admin
@testable import DNSServer
import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS

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
    let documented: [HTTPServerResponse.Status] = [.ok, .badRequest, .notFound, .methodNotAllowed]
    precondition(documented.contains(response.status), "a status that is not documented")
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
    guard let members = try? JSONReader.read(body).members() else { preconditionFailure("not one object") }
    return (try? members.first { $0.key == "error" }?.value.text()).map { !$0.isEmpty } ?? false
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
    let querySources = ["cache", "aliyun", "-"]

    nonisolated init() {}

    func perform(_ command: ControlCommand) async throws(ControlFault) -> CommandReport {
        switch command {
        case .status, .policy, .badAddresses, .tryReload: reads += 1
        case .list(let suffix, let limit, let cursor, _):
            reads += 1
            precondition((1...ControlCommand.pageLimit).contains(limit), "a page of \(limit) answers")
            precondition(suffix == suffix?.lowercased, "a name with capital letters")
            if cursor?.isEmpty == true { throw .wrong("cursor") }
        case .show(let name, _, _), .why(let name):
            reads += 1
            precondition(name == name.lowercased, "a name with capital letters")
        case .trace(let question):
            changes += 1
            precondition(
                question.name == question.name.lowercased && !question.type.isMeta, "a question of \(question)")
        case .reportBad(_, let lifetime, _):
            changes += 1
            precondition(BadAddresses.lifetimes.contains(lifetime), "a report for \(lifetime)")
        case .flush, .turn, .forgetBad, .reload: changes += 1
        }
        return CommandReport("{}", CommandOutput(""))
    }

    func listen(for filter: QueryFilter) -> QueryListener? {
        reads += 1
        precondition(filter.suffix == filter.suffix?.lowercased, "a name with capital letters")
        precondition(filter.slower.map { (.zero ... .seconds(60)).contains($0) } ?? true, "slower than \(filter)")
        return QueryListener(filter, clock: StillClock())
    }
}

/// A clock on which no time passes.
@Loop
private final class StillClock: LoopClock {
    let now = Instant(nanoseconds: 0)

    nonisolated init() {}

    func schedule(at instant: Instant, _ body: @escaping @Loop () -> Void) -> LoopTimer { LoopTimer(body) }
}
