import DNSWire
import Platform

@testable import DNSServer

/// A service that does what the test says.
@Loop
final class ScriptedService: HTTPService {
    private let answer: @Loop (HTTPServerRequest, @escaping @Loop (HTTPServerResponse) -> Void) -> Bool

    /// - Parameter answer: replies to a request, and says whether it is one of the service's.
    nonisolated init(
        _ answer: @escaping @Loop (HTTPServerRequest, @escaping @Loop (HTTPServerResponse) -> Void) -> Bool
    ) { self.answer = answer }

    func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool { answer(request, reply) }
}
