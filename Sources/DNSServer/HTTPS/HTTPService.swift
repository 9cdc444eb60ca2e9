package import Platform
package import Scheduling

/// What answers the requests at a site that are not for the path of DNS over HTTPS.
@Loop
package protocol HTTPService: Sendable {
    /// Answers a request, or leaves it.
    ///
    /// - Parameters:
    ///   - request: with any method; a response to HEAD is sent without its body.
    ///   - client: the real client, also behind a proxy of `[listen] proxies`.
    ///   - reply: called once, perhaps before this returns. After the client is gone it does nothing.
    /// - Returns: whether `reply` is called; if not, the client gets status 404, or 405 for neither GET nor POST.
    func respond(
        to request: HTTPServerRequest, from client: SocketAddress,
        reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool
}
