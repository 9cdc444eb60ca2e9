package import DNSServer
package import DNSWire
package import Scheduling

/// The running server, as read by the monitoring interface.
@Loop
package protocol MonitorTarget: AnyObject, Sendable {
    /// The names by which people may ask for the page.
    var hosts: HTTPHosts { get }
    var status: StatusReport { get }
    var traffic: TrafficReport { get }
    /// What the charts show, since the start.
    var counters: TrafficHistory.Counters { get }
    /// What is wrong by the server's own report.
    func findings(in status: StatusReport) -> [Finding]
    /// The names that are asked for most; nil where names may not be shown.
    var hottestNames: [TrafficReport.Count]? { get }
    /// Why no question can be answered from any source; nil when one may be.
    var unreadiness: String? { get }
    /// Answers a question as that of a client of this machine, and tells how.
    func trace(_ question: Question) async -> TraceReport
}
