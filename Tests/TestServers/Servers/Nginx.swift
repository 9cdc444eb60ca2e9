import Foundation
import TestSupport

/// nginx as an HTTPDNS service over TLS and HTTP/2.
///
/// It answers Aliyun's `/{account}/d` and `/sign_d` itself, with the same addresses for every name, and passes the rest
/// to a `FakeHTTPDNS`: names that begin with `slow`, and `/dns-query`. Or it passes on everything.
package final class Nginx: Sendable {
    /// A request from its access log.
    package struct Request: Sendable {
        /// The connection's number.
        package let connection: Int
        package let clientPort: Int
        /// Such as `HTTP/2.0`.
        package let httpVersion: String
        /// The server name (SNI) of the handshake; empty without one.
        package let serverName: String
        package let status: Int
        package let target: String
        /// Whether its connection resumed an earlier TLS session.
        package let isResumed: Bool
    }

    /// The addresses that it answers itself, with TTL 600.
    package static let addresses = ["192.0.2.1", "2001:db8::1"]

    package let address: TestAddress
    private let leaf: TestCertificates.Leaf
    private let process: NginxProcess

    /// Starts it.
    ///
    /// - Parameters:
    ///   - address: the address to listen on; nil: a free port on 127.0.0.1.
    ///   - backend: the service that answers what nginx does not.
    ///   - answersItself: whether nginx answers any requests itself.
    ///   - http2: whether HTTP/2 is offered.
    ///   - requestsPerConnection: the number of requests after which it announces the connection's end (GOAWAY).
    ///   - tlsVersions: the offered versions, in nginx's syntax.
    ///   - namespace: the network namespace to run it in.
    package init(
        _ leaf: TestCertificates.Leaf, at address: TestAddress? = nil, backend: FakeHTTPDNS? = nil,
        answersItself: Bool = true, http2: Bool = true, requestsPerConnection: Int = 100_000,
        tlsVersions: String = "TLSv1.2 TLSv1.3",
        namespace: NetworkNamespace? = nil
    ) throws {
        let address = try address ?? TestAddress("127.0.0.1", port: FreePort.next())
        self.address = address
        self.leaf = leaf
        process = try NginxProcess(
            Self.configuration(address, leaf, backend?.url, answersItself, http2, requestsPerConnection, tlsVersions),
            namespace: namespace)
    }

    /// The base of its URLs.
    package var url: String { "https://\(address)" }

    /// The requests answered so far.
    package var requests: [Request] {
        process.log.compactMap { line in
            let fields = line.split(separator: " ", omittingEmptySubsequences: false)
            guard fields.count == 7, let connection = Int(fields[0]), let port = Int(fields[1]),
                let status = Int(fields[4])
            else { return nil }
            return Request(
                connection: connection, clientPort: port, httpVersion: String(fields[2]),
                serverName: fields[3] == "-" ? "" : String(fields[3]), status: status, target: String(fields[5]),
                isResumed: fields[6] == "r")
        }
    }

    /// The number of connections that carried requests so far.
    package var connections: Int { Set(requests.map(\.connection)).count }

    /// Waits until it has answered at least `count` requests: a line is written just after its response.
    package func waitForRequests(_ count: Int, within limit: Duration = .patience) -> Bool {
        eventually(within: limit) { requests.count >= count }
    }

    private static func configuration(
        _ address: TestAddress, _ leaf: TestCertificates.Leaf, _ backend: String?, _ answersItself: Bool,
        _ http2: Bool, _ requestsPerConnection: Int, _ tlsVersions: String
    ) -> String {
        let proxy = backend.map { "proxy_pass \($0); break;" } ?? "return 404;"
        let reply =
            "{\"host\":\"$arg_host\",\"ips\":[\"\(addresses[0])\"],\"ipsv6\":[\"\(addresses[1])\"],"
            + "\"ttl\":600,\"origin_ttl\":600,\"client_ip\":\"203.0.113.7\"}"
        let own = """
            location ~ ^/[0-9]+/(sign_)?d$ {
              default_type application/json;
              if ($arg_host ~* "^slow") { \(proxy) }
              return 200 '\(reply)';
            }
            """
        return """
            http2_max_concurrent_streams 512;
            server {
              listen \(address) ssl\(http2 ? " http2" : "");
              ssl_certificate \(leaf.certificate);
              ssl_certificate_key \(leaf.key);
              ssl_protocols \(tlsVersions);
              keepalive_requests \(requestsPerConnection);
              proxy_buffering off;
              \(answersItself ? own : "")
              location / {
                if ($request_method) { \(proxy) }
                return 404;
              }
            }
            """
    }
}
