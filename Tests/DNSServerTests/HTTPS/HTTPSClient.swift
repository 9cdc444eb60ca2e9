import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// A client over HTTP: of a connection for HTTPS whose bytes are not encrypted, or of a Unix socket.
final class HTTPSClient: Sendable {
    private let descriptor: Int32

    /// - Parameter address: the client's, as the server's rules see it.
    init(_ server: TestServer, alpn: String? = nil, address: String = "127.0.0.1:5000") async throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        descriptor = pair[0]
        _ = fcntl(pair[1], F_SETFL, O_NONBLOCK)
        let client = ConnectionClient(address: try #require(SocketAddress(address)), transport: .https)
        let other = pair[1]
        await Self.start(other, client, alpn, server)
    }

    init(unixSocket path: String) throws {
        descriptor = try Descriptor.connected(toUnixSocket: path).release()
    }

    deinit { close(descriptor) }

    @Loop
    private static func start(_ descriptor: Int32, _ client: ConnectionClient, _ alpn: String?, _ server: TestServer) {
        let stream = StreamSocket(Descriptor(owning: descriptor))
        let table = server.server.serving.encrypted
        _ = table.add(
            HTTPServerConnection(stream, client: client, alpn: alpn, at: server.server.site, in: table.context))
    }

    func send(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Ends its direction of the connection.
    func finishSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// The bytes of one read; empty at the end.
    func receive(within limit: Duration = .patience) -> [UInt8]? {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = Int32(
            clamping: limit.components.seconds * 1_000 + limit.components.attoseconds / 1_000_000_000_000_000)
        guard poll(&entry, 1, milliseconds) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    /// All that comes until the server ends the connection; nil when it does not.
    func readAll() -> [UInt8]? {
        var all: [UInt8] = []
        while let bytes = receive() {
            if bytes.isEmpty { return all }
            all += bytes
        }
        return nil
    }

    /// What comes until the condition holds for all of it, or the server ends the connection.
    func readText(until isEnough: (String) -> Bool = { _ in false }) -> String {
        var text = ""
        while !isEnough(text), let bytes = receive(), !bytes.isEmpty { text += String(decoding: bytes, as: UTF8.self) }
        return text
    }

    /// Whether the server has ended the connection, after whatever else it sent.
    func isClosed() -> Bool { readAll() != nil }

    /// Whether the server has ended the connection without an error, after whatever else it sent.
    func endsProperly() -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var count = 1
        while count > 0 { count = recv(descriptor, &bytes, bytes.count, 0) }
        return count == 0
    }

    /// Sends a request over HTTP/1.1, and returns its response.
    func ask(_ method: String = "GET", _ target: String, type: String? = nil, body: [UInt8] = []) throws -> Response {
        let field = type.map { "content-type: \($0)\r\n" } ?? ""
        send(
            Array("\(method) \(target) HTTP/1.1\r\nhost: a\r\n\(field)content-length: \(body.count)\r\n\r\n".utf8)
                + body)
        return try next()
    }

    /// A response over HTTP/1.1.
    struct Response {
        let status: Int
        let fields: [String: String]
        let body: [UInt8]

        var message: TestMessage? { try? TestMessage(decoding: body) }
    }

    /// The next response over HTTP/1.1.
    func next() throws -> Response {
        var bytes: [UInt8] = []
        while true {
            if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
                let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
                let pairs = lines.dropFirst().map { line in
                    let parts = line.split(separator: ": ", maxSplits: 1)
                    return (String(parts[0]), String(parts.last ?? ""))
                }
                let fields = Dictionary(uniqueKeysWithValues: pairs)
                let body = Array(bytes[end.upperBound...])
                if let length = fields["content-length"].flatMap({ Int($0) }), body.count >= length {
                    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
                    return Response(status: status ?? 0, fields: fields, body: body)
                }
            }
            guard let more = receive(), !more.isEmpty else { throw TestFailure("no response over HTTP") }
            bytes += more
        }
    }
}

extension TestMessage {
    /// The target of a GET for this message.
    func target(_ path: String = "/dns-query") -> String {
        path + "?dns=" + encoded.base64URL
    }
}
