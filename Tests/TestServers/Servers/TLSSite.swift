/// A web server whose hosts share one address and have different certificates, selected by the server name (SNI).
///
/// Every path answers `NAME HOST`: the server name of the handshake, and the request's `Host`. `/moved` redirects to
/// the same path of the last host.
package final class TLSSite: Sendable {
    private let leaves: [TestCertificates.Leaf]
    private let process: NginxProcess

    /// Starts it on port 443.
    ///
    /// - Parameters:
    ///   - hosts: each with a certificate of its own; the first one's is also used for an unknown server name, or none.
    ///   - addresses: the addresses to listen on.
    package init(
        _ certificates: TestCertificates, hosts: [String], on addresses: [String], namespace: NetworkNamespace
    ) throws {
        let leaves = try hosts.map { try certificates.leaf(names: [$0]) }
        self.leaves = leaves
        let listen = addresses.map { "listen \(TestAddress($0, port: 443)) ssl;" }.joined(separator: " ")
        let servers = zip(hosts, leaves).map { host, leaf in
            """
            server {
              \(listen)
              server_name \(host);
              ssl_certificate \(leaf.certificate);
              ssl_certificate_key \(leaf.key);
              location / { return 200 "$ssl_server_name $http_host\\n"; }
              location /moved { return 302 https://\(hosts.last ?? host)/; }
            }
            """
        }
        process = try NginxProcess(servers.joined(separator: "\n"), namespace: namespace)
    }
}
