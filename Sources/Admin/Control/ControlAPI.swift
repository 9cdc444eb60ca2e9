public import DNSServer
public import DNSWire
public import Platform

/// The running server, as read and controlled by the control API.
@Loop
public protocol ControlTarget: AnyObject, Sendable {
    /// Does what a command wants. What it changes is on disk before this returns, where there is a cache on disk that can be used.
    func perform(_ command: ControlCommand) async throws(ControlFault) -> CommandReport

    /// What the source of a query can be.
    var querySources: [String] { get }

    /// Begins to pass the answered queries on, for as long as the listener is referenced. Returns nil when there are as many
    /// listeners as may be.
    func listen(for filter: QueryFilter) -> QueryListener?
}

/// The control API: each request is a command, to which the server has a report, or a stream of queries.
@Loop
public struct ControlAPI: HTTPService {
    /// The most bytes of a body; the longest useful one has some 300.
    nonisolated static let bodyLimit = 4_096

    private let target: any ControlTarget

    public nonisolated init(target: any ControlTarget) { self.target = target }

    public func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        Loop.spawn { reply(await response(to: request)) }
        return true
    }

    /// Executes the request; every fault of it becomes a response.
    public func response(to request: HTTPServerRequest) async -> HTTPServerResponse {
        guard request.body.count <= Self.bodyLimit else {
            return .fault(.contentTooLarge, "a body has at most \(Self.bodyLimit) bytes", to: request)
        }
        do throws(ControlFault) {
            if request.path.elementsEqual("/v1/queries".utf8) { return try queries(request) }
            return HTTPServerResponse(try await target.perform(ControlCommand(request)), to: request)
        } catch {
            return .fault(error.status, error.text, to: request)
        }
    }

    /// The queries as they are answered, without an end.
    private func queries(_ request: HTTPServerRequest) throws(ControlFault) -> HTTPServerResponse {
        let wanted = try request.parameters(["suffix", "client", "source", "slower_ms"])
        var filter = QueryFilter()
        if ReportForm(request) == .text { filter.form = .text }
        filter.suffix = try wanted.name("suffix")
        filter.source = wanted.text("source")
        let known = target.querySources
        // A misspelt one would show nothing, as if nothing were asked.
        if let source = filter.source, !known.contains(source) {
            throw .wrong("source: there is no \"\(source)\", but: \(known.joined(separator: ", "))")
        }
        filter.network = wanted.text("client").flatMap { AddressPrefix($0) }
        guard wanted.text("client") == nil || filter.network != nil else {
            throw .wrong("client: not an address, or a network such as 192.0.2.0/24")
        }
        let slowest = Int(QueryFilter.slowest / .milliseconds(1))
        filter.slower = try wanted.number("slower_ms", 0...slowest).map { .milliseconds($0) }
        guard let listener = target.listen(for: filter) else {
            throw .unavailable("\(QueryListeners.limit) clients are shown queries already, and no more can be")
        }
        var response = HTTPServerResponse(.ok, filter.form, [])
        response.feed = HTTPServerFeed(
            every: .milliseconds(100), isPatient: true, wasRead: { listener.wasRead() }
        ) { listener.take() }
        return response
    }
}
