package import Platform
package import Scheduling

/// What answers the requests of an HTTP listener that are not for the path of DNS over HTTPS.
@Loop
package protocol HTTPService: AnyObject, Sendable {
    /// Answers a request, or leaves it.
    ///
    /// - Parameters:
    ///   - request: with GET or POST.
    ///   - client: the real client, also behind a proxy of `[listen] proxies`.
    ///   - reply: called once, perhaps before this returns, within 2.5 s. After the client is gone it does nothing.
    /// - Returns: whether `reply` is called; if not, the client gets status 404.
    func respond(
        to request: HTTPServerRequest, from client: SocketAddress,
        reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool
}
