import Foundation
import Glibc
package import HTTPDNS
import TestSupport

/// An HTTPDNS service on loopback over HTTP/1.1 with persistent connections: RFC 8484's `/dns-query`, and every vendor's
/// form, for one account. It counts its requests, and misbehaves on command.
package final class FakeHTTPDNS: Sendable {
    /// The question of a request.
    package struct Call: Sendable, Hashable {
        /// In lower case.
        package var name: String
        package var types: [UInt16]

        package init(_ name: String, _ types: [UInt16]) {
            self.name = name.lowercased()
            self.types = types
        }
    }

    struct State {
        var zone: FakeZone
        var faults: [String: HTTPFault] = [:]
        /// The number of further requests that each fault affects; without an entry, all.
        var remaining: [String: Int] = [:]
        var calls: [Call] = []
        var requests: [RecordedRequest] = []
        var connections = 0
        var open: [Int: TestSocket] = [:]
        var headers: [String] = []
        var schedule: FakeSchedule?
        var stopped = false
        /// Requests that take the time of `HTTPFault.atMost`.
        var underWay = 0
    }

    /// The address on which it listens.
    package let address: TestAddress
    private let account: ServiceAccount
    let monitor: Monitor<State>
    private let listener: TestSocket

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - secret: the key with which `sign_d` must be signed; nil: requests need no signature.
    ///   - account: nil: Aliyun's, with `secret`.
    ///   - port: 0: a free one.
    package init(
        _ zone: FakeZone, secret: String? = nil, account: ServiceAccount? = nil, host: String = "127.0.0.1",
        port: UInt16 = 0
    ) throws {
        // Not one of the range from which the kernel takes source ports: there another socket may have it when a service
        // of the same port is started on another address, or again.
        let listener =
            try port == 0
            ? FreePort.listeners(on: [host]).sockets[0] : TestSocket.listener(TestAddress(host, port: port))
        self.listener = listener
        address = listener.localAddress
        let account = account ?? ServiceAccount(id: DaemonConfiguration.account, secret: secret.map(Secret.init))
        self.account = account
        monitor = Monitor(State(zone: zone))
        let monitor = monitor
        Thread.detachNewThread {
            while let (socket, _) = listener.accept() {
                let number = monitor.withLock { state in
                    state.connections += 1
                    state.open[state.connections] = socket
                    return state.connections
                }
                let connection = FakeHTTPConnection(
                    socket: socket, number: number, monitor: monitor, account: account)
                Thread.detachNewThread {
                    connection.serve()
                    monitor.withLock { $0.open[number] = nil }
                }
            }
        }
    }

    deinit { stop() }

    /// The base of its URLs: `http://127.0.0.1:port`.
    package var url: String { "http://\(address)" }

    /// Stops listening and closes all connections.
    package func stop() {
        listener.shutdown()
        monitor.withLock { state in
            state.stopped = true
            for socket in state.open.values { socket.shutdown() }
        }
    }

    /// The zone that it answers from; may be changed at any time.
    package var zone: FakeZone {
        get { monitor.read { $0.zone } }
        set { monitor.withLock { $0.zone = newValue } }
    }

    /// Sets how requests for `name` (nil: for all names without a fault of their own) fail; a nil fault ends it.
    ///
    /// - Parameters:
    ///   - type: only requests for this type alone; nil: for all without a fault of their own.
    ///   - times: the number of requests that are affected; nil: all.
    package func misbehave(_ fault: HTTPFault?, for name: String? = nil, type: UInt16? = nil, times: Int? = nil) {
        let key = State.key(name, type)
        monitor.withLock { state in
            state.faults[key] = fault
            state.remaining[key] = times
        }
    }

    /// The result of Aliyun's scheduling call; nil: the addresses of another service.
    package var schedule: FakeSchedule? {
        get { monitor.read { $0.schedule } }
        set { monitor.withLock { $0.schedule = newValue } }
    }

    /// The number of scheduling calls, which are not counted as calls.
    package var scheduleCount: Int { monitor.read { $0.scheduleCount } }

    /// Header lines added to every response, such as `Age: 250`.
    package func addHeaders(_ lines: [String]) { monitor.withLock { $0.headers = lines } }

    /// The calls so far, in order of arrival.
    package var calls: [Call] { monitor.read { $0.calls } }

    /// The number of calls for a name; nil: for any.
    package func callCount(_ name: String? = nil) -> Int { monitor.read { $0.count(name) } }

    /// All requests so far, including those that were not calls.
    package var requests: [RecordedRequest] { monitor.read { $0.requests } }

    /// The number of connections that it has accepted.
    package var connections: Int { monitor.read { $0.connections } }

    /// The number of connections that are open now.
    package var openConnections: Int { monitor.read { $0.open.count } }

    /// Clears all calls and requests.
    package func forget() {
        monitor.withLock { state in
            state.calls = []
            state.requests = []
        }
    }

    /// Waits until it was called at least `count` times for a name (nil: for any).
    ///
    /// - Returns: whether it was, within `limit`.
    package func waitForCalls(_ count: Int, for name: String? = nil, within limit: Duration = .patience) -> Bool {
        monitor.waitForLoop(limit) { $0.count(name) >= count }
    }
}

extension FakeHTTPDNS.State {
    var scheduleCount: Int { requests.count { $0.path.hasSuffix("/ss") } }

    func count(_ name: String?) -> Int {
        guard let name = name?.lowercased() else { return calls.count }
        return calls.count { $0.name == name }
    }

    static func key(_ name: String?, _ type: UInt16?) -> String {
        (name?.lowercased() ?? "*") + (type.map { " \($0)" } ?? "")
    }

    /// The key of the fault that affects a request; nil stands for a request that is not a call.
    func faultKey(_ call: FakeHTTPDNS.Call?) -> String? {
        let (name, type) = (call?.name ?? "", call?.types.count == 1 ? call?.types[0] : nil)
        return [Self.key(name, type), Self.key(name, nil), Self.key(nil, type), Self.key(nil, nil)]
            .first { faults[$0] != nil }
    }

    /// The fault that affects this request, which is counted.
    mutating func takeFault(_ call: FakeHTTPDNS.Call?) -> HTTPFault? {
        guard let key = faultKey(call), let fault = faults[key] else { return nil }
        if let left = remaining[key] {
            remaining[key] = left > 1 ? left - 1 : nil
            if left <= 1 { faults[key] = nil }
        }
        return fault
    }
}
