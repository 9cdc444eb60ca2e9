package import DNSWire
import HTTPDNS
package import Platform

/// One address of an HTTP service: where to connect, and what the service is called there.
package struct HTTPOrigin: Hashable, Sendable {
    package enum Scheme: String, Sendable {
        /// Can be read, forged and replayed on the path.
        case http
        case https

        var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// The bundle of Debian's ca-certificates.
    package static let defaultCAFile = "/etc/ssl/certs/ca-certificates.crt"

    package var scheme: Scheme
    /// Connected to, whatever the host is called: nothing is ever looked up.
    package var address: IPAddress
    package var port: UInt16
    /// The port in the URL; nil: the scheme's own. May differ from the one connected to.
    package var urlPort: UInt16?
    /// The URL's host: names, or addresses as text. For https these are the names of which the certificate must carry
    /// one; they are tried in turn, in this order (an address is sent no SNI). For http the first one counts.
    package var hosts: [String]
    /// What stands before every request's target: empty, or a path without a slash at its end.
    package var basePath: String
    /// The authorities that may sign the certificate: a PEM file.
    package var caFile: String
    /// `sha256//` and base64: the certificate's public key must be one of these; empty: any.
    package var pins: [String]
    /// An HTTP proxy that tunnels the connections (`CONNECT`, RFC 9110 section 9.3.6), also those of plain http; nil: none.
    package var proxy: SocketAddress?

    package init(
        scheme: Scheme, address: IPAddress, port: UInt16? = nil, urlPort: UInt16? = nil, hosts: [String] = [],
        basePath: String = "", caFile: String = "", pins: [String] = [], proxy: SocketAddress? = nil
    ) {
        self.scheme = scheme
        self.address = address
        self.port = port ?? scheme.defaultPort
        self.urlPort = urlPort ?? port
        self.hosts = hosts.isEmpty ? [address.description] : hosts
        self.basePath = basePath.hasSuffix("/") ? String(basePath.dropLast()) : basePath
        self.caFile = caFile.isEmpty ? Self.defaultCAFile : caFile
        self.pins = pins
        self.proxy = proxy
    }

    /// Where its connections lead first: what the network must have a way to.
    var nextHop: IPAddress { proxy?.ip ?? address }

    /// The address and port, for logs and libcurl: `192.0.2.1:443`, `[2001:db8::1]:443`.
    package var addressText: String { "\(Self.bracketed(address.description)):\(port)" }

    /// libcurl's entry that sends every host and port to this address.
    var connectTo: String { "::\(addressText)" }

    /// The URL of the service under the name `hosts[host]`, without what belongs to a request.
    func url(host: Int) -> String { "\(scheme.rawValue)://\(authority(host: host))/" }

    /// What is asked for with a request: the base path, and the request's own.
    func target(of request: HTTPRequest) -> String {
        basePath.isEmpty ? request.target : basePath + request.target
    }

    /// Host and port in it, the port only where it is not the scheme's own.
    func authority(host: Int) -> String {
        let port = urlPort ?? scheme.defaultPort
        return Self.bracketed(hosts[host]) + (port == scheme.defaultPort ? "" : ":\(port)")
    }

    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}
