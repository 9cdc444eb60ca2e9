/// An HTTP/2 server over TLS on 127.0.0.1 with a chosen misbehaviour (`Tests/Servers/http2.py`); killed when the last
/// reference is released.
package final class ScriptedHTTP2: Sendable {
    package enum Behaviour: String, Sendable {
        case answer, fail, slow, hang, ping, flood, complain, `break`, goodbye, refuse, downgrade, cut, confuse, chaos,
            doh
    }

    package var port: UInt16 { server.port }
    private let server: ScriptServer

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - streams: the number of concurrent requests per connection that it announces.
    ///   - behaviours: of one connection after the other; the last one is that of all further ones.
    package init(_ leaf: TestCertificates.Leaf, streams: Int = 100, _ behaviours: [Behaviour]) throws {
        server = try ScriptServer("http2.py", leaf, ["\(streams)"] + behaviours.map(\.rawValue))
    }

    /// The number of connections that it has accepted.
    package var connections: Int { server.lines(of: "connections").count }

    /// The number of connections on which the client has read its GOAWAY (`goodbye`), or that it has ended with one
    /// (`complain`).
    package var goodbyes: Int { server.lines(of: "goodbyes").count }
}
