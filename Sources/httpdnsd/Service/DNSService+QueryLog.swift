import Admin
import Configuration
import DNSResolver
import DNSServer
import DNSWire
import Logging
import Logs
import Platform
import Upstreams

extension DNSService {
    /// Logs every query that the server tells of, where that is configured, and passes it to the listeners. Once.
    func reportQueries() {
        // All since the start: of what comes within a minute, the log shows only the last.
        var dropped = 0
        server.feed.receive { [unowned self] query in
            let source = resolver.sourceName(query.kind, query.source)
            if countsNames, let question = query.question { names.add(question.name, at: loop.now) }
            if isLoggingQueries {
                let report = report(of: query, source)
                log.write(.query, "query \(report.summary)", fields(of: report))
            }
            listeners.add(
                query.question?.name, from: query.client, source: source.word, source.provider, took: query.took
            ) {
                report(of: query, source)
            }
            // The last may have gone.
            turnFeed()
        } missed: { [unowned self] count in
            listeners.missed(count)
            guard isLoggingQueries else { return }
            dropped += count
            events.report(
                LogMessage(
                    .logQueriesDropped, about: "",
                    "queries come faster than they can be logged: \(dropped) since the start were answered and not logged",
                    ["dropped": .stringConvertible(dropped)]))
        }
    }

    /// Makes the server tell of queries as long as they are logged or have listeners.
    func turnFeed() { server.feed.turn(on: isLoggingQueries || !listeners.isEmpty) }

    func listen(for filter: QueryFilter) -> QueryListener? {
        defer { turnFeed() }
        return listeners.add(filter)
    }

    /// Whether the names of queries are counted for the page: where the log has them, and no other machine sees the page.
    var countsNames: Bool { isLoggingQueries && composition.settings.control.http?.address.isLoopback == true }

    var querySources: [String] {
        AnswerKind.allCases.map(\.word) + composition.providers.map(\.entry.name)
    }

    private var isLoggingQueries: Bool { composition.settings.log.queries }

    private func report(of query: AnsweredQuery, _ source: SourceName) -> QueryReport {
        var report = QueryReport()
        report.time = UTCTime.now.description
        report.client = query.client.description
        report.program = query.network.flatMap { localPrograms.text(of: $0) } ?? ""
        report.transport = query.transport.label
        if let question = query.question {
            report.name = question.name.description
            report.type = question.type.description
            report.route = resolver.route(of: question.name).description
        }
        report.rcode = query.responseCode.description
        report.source = source.word
        report.provider = source.provider
        report.microseconds = Milliseconds(query.took).microseconds
        return report
    }

    private func fields(of report: QueryReport) -> Logger.Metadata {
        [
            "client": "\(report.client)", "transport": "\(report.transport)", "name": "\(report.name)",
            "type": "\(report.type)", "rcode": "\(report.rcode)", "route": "\(report.route)",
            "source": "\(report.source)", "provider": "\(report.provider)", "ms": .stringConvertible(report.took),
        ]
    }
}
