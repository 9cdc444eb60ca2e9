package import DNSServer
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
