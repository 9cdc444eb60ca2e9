import DNSWire
import HTTPDNS
import Platform
import TestServers
import TestSupport
import Testing

@testable import Upstreams

/// Helpers shared by the tests of HTTP.
enum HTTPFixture {
    static let loopback = IPAddress.v4(0x7f00_0001)

    /// A zone in which every name has an address.
    static let zone = FakeZone(["*": FakeZone.Entry(a: ["192.0.2.7"])])

    /// A request in the form that the fake services accept.
    static func request(_ name: String) -> HTTPDNS.HTTPRequest {
        HTTPDNS.HTTPRequest(target: "/139450/d?host=\(name)")
    }

    /// Plain HTTP to a fake service.
    static func plain(_ address: TestAddress, clock: (any LoopClock)? = nil) async -> HTTPTransfers {
        await HTTPTransfers(
            HTTPOrigin(scheme: .http, address: loopback, port: address.port), loop: LoopRunner.shared.loop, clock: clock
        )
    }

    /// HTTPS to a port of loopback.
    static func secure(
        _ port: UInt16, hosts: [String] = ["right.example"], authority: String, pins: [String] = [],
        address: IPAddress = loopback,
        translated: IPAddress? = nil, clock: (any LoopClock)? = nil
    ) async -> HTTPTransfers {
        var origin = HTTPOrigin(
            scheme: .https, address: address, port: port, hosts: hosts, caFile: authority, pins: pins)
        origin.translated = translated
        return await HTTPTransfers(origin, loop: LoopRunner.shared.loop, clock: clock)
    }

    /// Sends `count` requests at the same time.
    ///
    /// - Returns: the result of each.
    static func parallel(
        _ count: Int, on transfers: HTTPTransfers, timeout: Duration = .patience, name: String = "fast",
        holder: ClientNetwork = .daemon
    ) async -> [Result<HTTPDNS.HTTPResponse, UpstreamFailure>] {
        await withTaskGroup { group in
            for number in 0..<count {
                group.addTask {
                    await transfers.get("\(name)\(number).example.com", timeout: timeout, holder: holder)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Sends a request, and `count` others from its completion.
    ///
    /// - Returns: the results of the others.
    @Loop
    static func following(
        _ count: Int, on transfers: HTTPTransfers, _ request: HTTPDNS.HTTPRequest, timeout: Duration
    ) async -> [Result<HTTPDNS.HTTPResponse, UpstreamFailure>] {
        var results: [Result<HTTPDNS.HTTPResponse, UpstreamFailure>] = []
        await withCheckedContinuation { continuation in
            _ = transfers.begin(request, deadline: .bootTime + timeout) { _ in
                for number in 0..<count {
                    _ = transfers.begin(Self.request("next\(number).example.com"), deadline: .bootTime + .patience) {
                        results.append($0)
                        if results.count == count { continuation.resume() }
                    }
                }
            }
        }
        return results
    }

    /// Lets time pass until it is cancelled, only while no request is under way: a slow machine costs no time.
    static func passTime(of clock: ManualClock, beside transfers: HTTPTransfers) -> Task<Void, Never> {
        Loop.spawn {
            while !Task.isCancelled {
                if transfers.load.active == 0 { await clock.advance(by: .milliseconds(10)) }
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    /// The greatest value of a number, read in every turn of the loop until `work` is done.
    @Loop
    static func peak(of number: @Loop () -> Int, during work: @escaping @Sendable () async -> Void) async -> Int {
        var isOver = false
        Loop.spawn {
            await work()
            isOver = true
        }
        var most = 0
        while !isOver {
            most = max(most, number())
            await Task.yield()
        }
        return most
    }

    /// Waits until `condition` holds.
    ///
    /// - Returns: false when it does not in time.
    static func eventually(_ condition: @Sendable () async -> Bool) async -> Bool {
        let limit = ContinuousClock.now + .patience
        while await !condition() {
            guard ContinuousClock.now < limit else { return false }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return true
    }
}

/// One request that a test waits for.
@Loop
private final class AwaitedTransfer {
    var continuation: CheckedContinuation<Result<HTTPDNS.HTTPResponse, UpstreamFailure>, Never>?
    var work: (any Cancellable)?

    nonisolated init() {}

    func finish(_ result: Result<HTTPDNS.HTTPResponse, UpstreamFailure>) {
        work = nil
        continuation.take()?.resume(returning: result)
    }

    func cancel() {
        work.take()?.cancel()
        finish(.failure(.cancelled))
    }
}

extension HTTPTransfers {
    /// Sends a request and waits for its end; it is given up when the task is cancelled.
    func perform(
        _ request: HTTPDNS.HTTPRequest, deadline: Instant, renewing: Bool = false,
        holder: ClientNetwork = .daemon, permit: Permit? = nil
    ) async -> Result<HTTPDNS.HTTPResponse, UpstreamFailure> {
        let awaited = AwaitedTransfer()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                awaited.continuation = continuation
                guard !Task.isCancelled else { return awaited.cancel() }
                awaited.work = begin(
                    request, deadline: deadline, holder: holder, renewing: renewing, permit: permit
                ) { awaited.finish($0) }
            }
        } onCancel: {
            Loop.spawn { awaited.cancel() }
        }
    }

    /// Makes a connection ready, and waits until it is.
    func connect(timeout: Duration) async {
        await withCheckedContinuation { continuation in connect(timeout: timeout) { continuation.resume() } }
    }

    /// Asks for a name.
    func get(
        _ name: String, timeout: Duration = .patience, renewing: Bool = false, holder: ClientNetwork = .daemon
    ) async -> Result<HTTPDNS.HTTPResponse, UpstreamFailure> {
        await perform(HTTPFixture.request(name), deadline: .bootTime + timeout, renewing: renewing, holder: holder)
    }
}

extension HTTPTransfers {
    /// The number of open connections, idle ones included.
    var openConnections: Int { connections.count }
}

extension HTTPSession {
    /// The streams that have ended since the last call.
    func takeEnded() -> [Ended] {
        var ended: [Ended] = []
        takeEnded(into: &ended)
        return ended
    }
}

extension Result {
    var isSuccess: Bool { if case .success = self { true } else { false } }

    var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}

extension Result where Failure == UpstreamFailure {
    var isNetworkFailure: Bool { if case .failure(.network) = self { true } else { false } }
}

extension Result where Success == HTTPDNS.HTTPResponse {
    /// The response's status; nil without a response.
    var status: Int? { if case .success(let response) = self { response.status } else { nil } }
}

extension [Result<HTTPDNS.HTTPResponse, UpstreamFailure>] {
    /// Whether every request has a response.
    var allSucceeded: Bool { allSatisfy(\.isSuccess) }
}
