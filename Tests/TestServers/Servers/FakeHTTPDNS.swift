import Foundation
import Glibc
import TestSupport

/// An HTTPDNS service on loopback: Aliyun's `/{account}/d`, signed or not, RFC 8484's `/dns-query`, one dialect of DoH
/// in JSON, and with an account Aliyun's `/v2/d` or Tencent's `/d`, over HTTP/1.1 with persistent connections. It
/// counts its requests, and misbehaves on command.
package final class FakeHTTPDNS: Sendable {
    /// The question of a request.
    package struct Call: Sendable, Hashable {
        package enum Kind: Sendable { case aliyun, aliyunSigned, aliyunV2, tencent, doh, dohJSON }
        package var kind: Kind
        /// In lower case.
        package var name: String
        /// Aliyun's `query` (`4`, `6`, `4,6`), Tencent's `type` (`a` when it is missing), or the number of the record
        /// type.
        package var types: String

        package init(_ kind: Kind, _ name: String, _ types: String) {
            self.kind = kind
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
        var clockError: TimeInterval = 0
        var schedule: FakeSchedule?
        var stopped = false
        /// Requests that take the time of `HTTPFault.atMost`.
        var underWay = 0
    }

    /// The address on which it listens.
    package let address: TestAddress
    let secret: String?
    /// The JSON form of DoH that it uses.
    let dialect: FakeJSONDialect
    let account: FakeAccount?
    let monitor: Monitor<State>
    private let listener: TestSocket

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - secret: the key with which `sign_d` must be signed; nil refuses every signed request.
    ///   - dialect: the JSON form of DoH that it uses.
    ///   - account: a service that it offers besides the others, and the only account there.
    ///   - port: 0: a free one.
    package init(
        _ zone: FakeZone, secret: String? = nil, dialect: FakeJSONDialect = .google,
        account: FakeAccount? = nil, host: String = "127.0.0.1", port: UInt16 = 0
    ) throws {
        // Not one of the range from which the kernel takes source ports: there another socket may have it when a service
        // of the same port is started on another address, or again.
        let listener =
            try port == 0
            ? FreePort.listeners(on: [host]).sockets[0] : TestSocket.listener(TestAddress(host, port: port))
        self.listener = listener
        address = listener.localAddress
        self.secret = secret
        self.dialect = dialect
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
                    socket: socket, number: number, monitor: monitor, secret: secret, dialect: dialect,
                    account: account)
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

    /// The URL of its JSON form of DoH.
    package var jsonURL: String { url + dialect.path }

    /// Stops listening and closes all connections.
    package func stop() {
        listener.shutdown()
        monitor.withLock { state in
            state.stopped = true
            for socket in state.open.values { socket.shutdown() }
        }
    }

    /// Closes all connections immediately; goes on listening.
    package func closeConnections() {
        monitor.withLock { state in
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
    ///   - types: only requests for these types, as in `Call.types`; nil: for all without a fault of their own.
    ///   - times: the number of requests that are affected; nil: all.
    package func misbehave(_ fault: HTTPFault?, for name: String? = nil, types: String? = nil, times: Int? = nil) {
        let key = State.key(name, types)
        monitor.withLock { state in
            state.faults[key] = fault
            state.remaining[key] = times
        }
    }

    /// The result of Aliyun's scheduling call, or Tencent's; nil: there is no such call.
    package var schedule: FakeSchedule? {
        get { monitor.read { $0.schedule } }
        set { monitor.withLock { $0.schedule = newValue } }
    }

    /// The number of scheduling calls, which are not counted as calls.
    package var scheduleCount: Int { monitor.read { $0.scheduleCount } }

    /// Header lines added to every response, such as `Age: 250`.
    package func addHeaders(_ lines: [String]) { monitor.withLock { $0.headers = lines } }

    /// Sets its clock, with which it verifies signatures, wrong; every response then has the time in `Date`.
    ///
    /// - Parameter seconds: how far it is ahead of the true time.
    package func setClock(ahead seconds: Int) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Date().addingTimeInterval(TimeInterval(seconds)))
        monitor.withLock { state in
            state.clockError = TimeInterval(seconds)
            state.headers = ["Date: \(date)"]
        }
    }

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

    /// Waits until at most `count` connections are open.
    package func waitForOpenConnections(atMost count: Int, within limit: Duration = .patience) -> Bool {
        monitor.waitForLoop(limit) { $0.open.count <= count }
    }
}

extension FakeHTTPDNS.State {
    var scheduleCount: Int { requests.count { $0.path.hasSuffix("/ss") || $0.path == "/conf" } }

    func count(_ name: String?) -> Int {
        guard let name = name?.lowercased() else { return calls.count }
        return calls.count { $0.name == name }
    }

    static func key(_ name: String?, _ types: String?) -> String {
        (name?.lowercased() ?? "*") + (types.map { " " + $0 } ?? "")
    }

    /// The key of the fault that affects a request; nil stands for a request that is not a call.
    func faultKey(_ call: FakeHTTPDNS.Call?) -> String? {
        let (name, types) = (call?.name ?? "", call?.types ?? "")
        return [Self.key(name, types), Self.key(name, nil), Self.key(nil, types), Self.key(nil, nil)]
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
