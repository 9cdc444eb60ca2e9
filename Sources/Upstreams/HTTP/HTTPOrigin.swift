package import DNSWire
import HTTPDNS
package import Platform
import Scheduling

/// One address of an HTTP service: where to connect, and the service's names there.
package struct HTTPOrigin: Hashable, Sendable {
    package enum Scheme: String, Sendable {
        /// Can be read, forged and replayed by any host on the path.
        case http
        case https

        var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// The trust anchors of Debian's package ca-certificates.
    package static let defaultCAFile = "/etc/ssl/certs/ca-certificates.crt"

    package var scheme: Scheme
    /// The address to connect to, whatever the host is: no name is looked up.
    package var address: IPAddress
    package var port: UInt16
    /// The port in the URL; nil: the scheme's default. May differ from the port connected to.
    package var urlPort: UInt16?
    /// The URL's host: names, or addresses as text. For https the certificate must be valid for one of them; they are
    /// tried in this order (for an address no SNI is sent). For http only the first one is used.
    package var hosts: [String]
    /// The prefix of every request's target: empty, or a path without a trailing slash.
    package var basePath: String
    /// A PEM file of trust anchors.
    package var caFile: String
    /// Public keys (SPKI hashes, `sha256//` and base64) of which the certificate must have one; empty: any.
    package var pins: [String]
    /// An HTTP proxy through which connections are tunnelled (`CONNECT`, RFC 9110 section 9.3.6), also those of plain
    /// http; nil: none.
    package var proxy: SocketAddress?
    /// Whether its replies are documents: longer than those to queries, and with an entity tag.
    package var hasDocuments = false
    /// Connected to in place of `address`, where the network translates that; nil: `address` itself.
    package var translated: IPAddress?

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

    /// The most bytes of a reply's body.
    var bodyLimit: Int { hasDocuments ? HTTPLimits.document : HTTPLimits.body }

    /// Where connections lead first, to which a route is needed: the proxy, or the address.
    var nextHop: IPAddress { proxy?.ip ?? translated ?? address }

    /// The same where the network may translate its address.
    @Loop
    func reached(by paths: NetworkPaths) -> HTTPOrigin {
        guard proxy == nil else { return self }
        var origin = self
        let reached = paths.reached(address)
        origin.translated = reached == address ? nil : reached
        return origin
    }

    /// The address and port, for logs and a proxy: `192.0.2.1:443`, `[2001:db8::1]:443`.
    package var addressText: String { "\(Self.bracketed(address.description)):\(port)" }

    /// A request's target after the base path.
    func target(of request: HTTPRequest) -> String {
        basePath.isEmpty ? request.target : basePath + request.target
    }

    /// Host and port as in the URL: the port only where it is not the scheme's default.
    func authority(host: Int) -> String {
        let port = urlPort ?? scheme.defaultPort
        return Self.bracketed(hosts[host]) + (port == scheme.defaultPort ? "" : ":\(port)")
    }

    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}
