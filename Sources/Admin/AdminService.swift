package import DNSCache
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
    var status: StatusReport { get }

    /// What `doctor` and `check` decide by, of a status: rows of cells.
    func testimony(of status: StatusReport) -> [[String]]

    /// Answers of the names below `suffix`, or all.
    ///
    /// - Parameters:
    ///   - limit: the number of answers, at least 1.
    ///   - cursor: where an earlier report ended.
    ///   - withRecords: whether all their records are returned, or addresses alone.
    /// - Returns: nil for an invalid cursor.
    func cached(below suffix: Name?, limit: Int, cursor: String?, withRecords: Bool) async -> CacheReport?

    /// Answers of one name, with their records.
    func cached(_ name: Name) async -> CacheReport

    /// What is cached of a name, how its questions failed last, and which forged addresses it had.
    func why(_ name: Name) -> WhyReport

    /// Answers a question as that of a client of this machine, and tells how.
    func trace(_ question: Question) async -> TraceReport

    /// What the source of a query can be.
    var querySources: [String] { get }

    /// Begins to pass the answered queries on, for as long as the listener is referenced. Returns nil when there are as many
    /// listeners as may be.
    func listen(for filter: QueryFilter) -> QueryListener?

    // What the following change is on disk before they return, where there is a cache on disk that can be used.

    /// Returns how many answers it removed.
    func flush(_ what: AnswerRemoval) async -> Int

    func turn(on isOn: Bool) async -> SwitchReport

    var badAddresses: BadAddressReport { get }

    /// Counts a report for `lifetime`, and removes the answers that contain the address.
    func reportBad(_ address: IPAddress, lifetime: Duration) async -> BadAddressReport

    /// Withdraws the reports of an address. Returns nil when there is none.
    func forgetBad(_ address: IPAddress) async -> BadAddressReport?

    /// Passes the sockets and all unfinished work to the process whose `NoticeSocket` is beside the control socket, and ends.
    ///
    /// - Returns: the number of sockets of listen addresses; nil when the server ends already, or the other process cannot be
    ///   reached: then it goes on.
    func handOver() async -> Int?

    /// What `reload` would say; nothing changes.
    func tryReload() async -> ReloadReport

    /// Reloads the configuration.
    func reload() async -> ReloadReport
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
