package import DNSServer
package import DNSWire
package import Platform
package import Scheduling

/// A service of this target: it answers every request, and may wait for what it answers with.
@Loop
package protocol AdminService: HTTPService {
    /// Every fault of the request becomes a response.
    func response(to request: HTTPServerRequest) async -> HTTPServerResponse
}

extension AdminService {
    package func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        Loop.spawn { reply(await response(to: request)) }
        return true
    }
}

/// The running server, as read and controlled by the control API.
@Loop
package protocol ControlTarget: AnyObject, Sendable {
    /// Does what a command wants. What it changes is on disk before this returns, where there is a cache on disk that can be used.
    func perform(_ command: ControlCommand) async throws(ControlFault) -> CommandReport

    /// What the source of a query can be.
    var querySources: [String] { get }

    /// Begins to pass the answered queries on, for as long as the listener is referenced. Returns nil when there are as many
    /// listeners as may be.
    func listen(for filter: QueryFilter) -> QueryListener?
}

/// The running server, as read by the monitoring interface.
@Loop
package protocol MonitorTarget: AnyObject, Sendable {
    /// The names by which people may ask for the page.
    var hosts: HTTPHosts { get }
    var status: StatusReport { get }
    /// What the charts show, since the start.
    var traffic: TrafficReport { get }
    /// The metrics whose values `status` does not have.
    func metrics(in format: MetricsFormat) -> String
    /// What is wrong by the server's own report.
    func findings(in status: StatusReport) -> [Finding]
    /// The names that are asked for most; nil where names may not be shown.
    var hottestNames: [NameCount]? { get }
    /// Why no question can be answered from any source; nil when one may be.
    var unreadiness: String? { get }
    /// Answers a question as that of a client of this machine, and tells how.
    func trace(_ question: Question) async -> TraceReport
}
