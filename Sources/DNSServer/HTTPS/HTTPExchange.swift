import Platform
import Scheduling

/// One request over HTTPS whose answer comes from the resolver or a service.
@Loop
final class HTTPExchange: ReplySink {
    nonisolated let transport: Transport
    private let connection: HTTPServerConnection
    private let stream: HTTPServerStream
    private var isFinished = false

    init(_ stream: HTTPServerStream, on connection: HTTPServerConnection) {
        self.stream = stream
        self.connection = connection
        transport = connection.client.transport
    }

    func send(_ reply: [UInt8]) { finish(HTTPServerResponse(message: reply)) }

    /// Sends the response, the first time.
    func finish(_ response: HTTPServerResponse) {
        guard !isFinished else { return }
        isFinished = true
        connection.finish(stream, response)
    }
}
