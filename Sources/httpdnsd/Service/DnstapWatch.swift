import Admin
import Configuration
import DNSServer
import DNSWire
import Logging
import Platform

/// The collector of dnstap: the log tells when it comes or goes, and when messages are dropped although it is there.
@Loop
final class DnstapWatch {
    /// How often it is looked whether it takes messages; ever less often while it is away.
    private static let interval: Duration = .seconds(1)

    let dnstap: Dnstap
    private let clock: any LoopClock
    private let events: EventLog
    private var backoff = Backoff()

    /// Begins to connect to the collector; nil when none is configured, or there is no memory or descriptor for it: DNS is
    /// served all the same.
    init?(_ settings: Configuration, producers: Int, clock: any LoopClock, events: EventLog) {
        guard let collector = settings.log.dnstap else { return nil }
        do throws(SystemError) {
            dnstap = try Dnstap(
                to: collector, identity: hostName(), version: "httpdnsd \(Release.version)",
                producers: producers)
        } catch {
            events.report(.dnstapUnavailable, "\(error)", ["collector": "\(collector)"])
            return nil
        }
        self.clock = clock
        self.events = events
        look(since: .connecting, dropped: 0)
    }

    private func look(since last: Dnstap.State, dropped: Int) {
        var pause = Self.interval
        if case .unavailable = last { pause = backoff.failed(at: clock.now) } else { backoff.succeeded() }
        _ = clock.schedule(after: pause) { [weak self] in
            guard let self else { return }
            let (state, count) = (dnstap.state, dnstap.counts.dropped)
            if state != last { tell(of: state) }
            if count > dropped, state == .connected, last == .connected {
                log(
                    .dnstapDropped, "takes messages too slowly: \(count) since the start were dropped",
                    ["dropped": .stringConvertible(count)])
            }
            look(since: state, dropped: count)
        }
    }

    private func tell(of state: Dnstap.State) {
        switch state {
        case .connecting: break
        case .connected: log(.dnstapConnected, "is connected", [:])
        case .unavailable(let reason):
            log(
                .dnstapUnavailable,
                "cannot be reached: \(reason); messages are dropped, and it is tried again, ever less often, down to each 30 s",
                ["reason": "\(reason)"])
        }
    }

    private func log(_ kind: LogKind, _ text: String, _ more: Logger.Metadata) {
        var fields = more
        fields["collector"] = "\(dnstap.collector)"
        events.report(kind, "the dnstap collector \(dnstap.collector) \(text)", fields)
    }

    var status: StatusReport.Dnstap {
        var report = StatusReport.Dnstap()
        report.collector = dnstap.collector.description
        switch dnstap.state {
        case .connecting: report.state = "connecting"
        case .connected: report.state = "connected"
        case .unavailable(let reason): (report.state, report.error) = ("unavailable", reason)
        }
        (report.sent, report.dropped) = dnstap.counts
        return report
    }
}
