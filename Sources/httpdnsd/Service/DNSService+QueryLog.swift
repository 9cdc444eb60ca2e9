import DNSResolver
import DNSServer
import DNSWire
import Logging
import Logs
import Platform

extension DNSService {
    /// Logs every query that the server tells of. Once.
    func logQueries() {
        // All since the start: of what comes within a minute, the log shows only the last.
        var dropped = 0
        server.feed.receive { [unowned self] query in
            let (text, fields) = line(of: query)
            log.write(.query, text, fields)
        } missed: { [events] count in
            dropped += count
            events.report(
                LogMessage(
                    .logQueriesDropped, about: "",
                    "queries come faster than they can be logged: \(dropped) since the start were answered and not logged",
                    ["dropped": .stringConvertible(dropped)]))
        }
    }

    private func line(of query: AnsweredQuery) -> (text: String, fields: Logger.Metadata) {
        let name = query.question?.name.description ?? "-"
        let type = query.question?.type.description ?? "-"
        let transport = query.transport.rawValue.lowercased()
        let route = query.question.map { resolver.route(of: $0.name).description } ?? "-"
        let source = sourceName(of: query)
        let took = Milliseconds(query.took)
        let text =
            "query \(query.client) \(transport) \(name) \(type) \(query.responseCode) \(route) \(took) ms \(source)"
        return (
            text,
            [
                "client": "\(query.client)", "transport": "\(transport)", "name": "\(name)", "type": "\(type)",
                "rcode": "\(query.responseCode)", "route": "\(route)", "source": "\(source)",
                "ms": .stringConvertible(took),
            ]
        )
    }

    private func sourceName(of query: AnsweredQuery) -> String {
        switch query.origin {
        case .ourselves: "-"
        case .cache, .archive: query.isStale ? "stale" : "cache"
        case .source(_, .rule): "rule"
        case .source(_, .preset): "preset"
        case .source(let tag, _): resolver.sourceName(of: tag)
        }
    }
}
