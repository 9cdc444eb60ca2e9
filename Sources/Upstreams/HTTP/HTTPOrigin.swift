import CSystem.Linux
public import DNSWire
import Glibc
import HTTPDNS
public import Platform

/// One address of an HTTP service: where to connect, and the service's names there.
public struct HTTPOrigin: Hashable, Sendable {
    public enum Scheme: String, Sendable {
        /// Can be read, forged and replayed by any host on the path.
        case http
        case https

        /// Where the URL says none.
        public var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    /// The trust anchors of Debian's package ca-certificates.
    public static let defaultCAFile = "/etc/ssl/certs/ca-certificates.crt"

    public var scheme: Scheme
    /// The address to connect to, whatever the host is: no name is looked up. By default none: see `at(_:)`.
    public var address: IPAddress
    public var port: UInt16
    /// The port in the URL; nil: the port connected to, which may differ from one in the URL.
    public var urlPort: UInt16?
    /// The URL's host: names, or addresses as text. For https the certificate must be valid for one of them; they are
    /// tried in this order (for an address no SNI is sent). For http only the first one is used.
    public var hosts: [String]
    /// The prefix of every request's target: empty, or a path without a trailing slash.
    public var basePath: String
    /// A PEM file of trust anchors.
    public var caFile: String
    /// Public keys (SPKI hashes, `sha256//` and base64) of which the certificate must have one; empty: any.
    public var pins: [String]
    /// An HTTP proxy through which connections are tunnelled (`CONNECT`, RFC 9110 section 9.3.6), also those of plain
    /// http; nil: none.
    public var proxy: SocketAddress?
    /// Whether its replies are documents: longer than those to queries, and with an entity tag.
    public var hasDocuments = false
    /// Connected to in place of `address`, where the network translates that; nil: `address` itself.
    public var translated: IPAddress?

    public init(
        scheme: Scheme, address: IPAddress = .v4(0), port: UInt16? = nil, hosts: [String] = [],
        basePath: String = "", caFile: String = "", pins: [String] = [], proxy: SocketAddress? = nil
    ) {
        self.scheme = scheme
        self.address = address
        self.port = port ?? scheme.defaultPort
        urlPort = port
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

    /// The same service at one of its addresses.
    func at(_ address: SocketAddress) -> HTTPOrigin {
        var origin = self
        (origin.address, origin.port) = (address.ip, address.port)
        return origin
    }

    /// The same where the network may translate its address.
    @Loop
    func reached(by paths: NetworkPaths) -> HTTPOrigin {
        guard proxy == nil else { return self }
        var origin = self
        let reached = paths.reached(address)
        origin.translated = reached == address ? nil : reached
        return origin
    }

    /// A socket that is about to be connected. Throws `UpstreamFailure.overloaded` without descriptors or memory,
    /// `.network` without a route.
    func connect() throws(UpstreamFailure) -> Descriptor {
        let address = proxy ?? SocketAddress(translated ?? address, port: port)
        do throws(SystemError) {
            return try .connecting(to: address, .tcp) { number in
                // An old kernel without the option only detects a dead connection later.
                _ = clinux_set_user_timeout(number, UInt32(HTTPLimits.userTimeout.components.seconds) * 1_000)
                setOption(number, SOL_SOCKET, SO_KEEPALIVE, 1)
                for (option, value) in [
                    (TCP_NODELAY, 1), (TCP_KEEPIDLE, HTTPLimits.keepAliveIdle),
                    (TCP_KEEPINTVL, HTTPLimits.keepAliveInterval),
                ] {
                    setOption(number, Int32(IPPROTO_TCP), option, value)
                }
            }
        } catch {
            if let shortage = error.shortage { throw .overloaded("no socket for \(addressText): \(shortage)") }
            throw .network(error.description)
        }
    }

    /// The address and port, for logs and a proxy: `192.0.2.1:443`, `[2001:db8::1]:443`.
    public var addressText: String { "\(Self.bracketed(address.description)):\(port)" }

    /// A request's target after the base path.
    func target(of request: HTTPRequest) -> String {
        basePath.isEmpty ? request.target : basePath + request.target
    }

    /// Host and port as in the URL: the port only where it is not the scheme's default.
    func authority(host: Int) -> String {
        let port = urlPort ?? port
        return Self.bracketed(hosts[host]) + (port == scheme.defaultPort ? "" : ":\(port)")
    }

    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}

/// The limits of HTTP transfers, each for one address of a service.
public enum HTTPLimits {
    /// Concurrent transfers; further ones are queued. So many names may be queried at once after an idle time, and with
    /// a service that takes 0.7 s per name, some would wait too long for a second batch.
    public static let requests = 256
    /// Concurrent transfers on an HTTP/2 connection; further ones get another connection.
    public static let streams = 64
    /// HTTP/2 connections, beside one that replaces them; and the HTTP/1.1 connections that stay open without a request.
    public static let connections = 8
    /// Concurrent transfers where each needs its own connection (HTTP/1.1).
    public static let unsharedRequests = 64
    /// Queued requests; further ones are refused.
    public static let waiting = 4_096
    /// How often a request is sent again because its connection could not be made, or ended before it was processed.
    static let refusals = 8
    /// The most bytes of a reply's body.
    public static let body = 65_536
    /// The same of a document, such as a signed policy.
    static let document = 4 << 20
    /// The longest entity tag that is sent back.
    static let entityTag = 256
    /// The most bytes of a reply's header, all lines together.
    public static let header = 16_384
    /// Bytes received on an HTTP/2 connection that are not part of replies, TLS's own included: the initial allowance,
    /// and what each request adds to it, up to the initial value. Usual servers need some 50 per reply. When the
    /// allowance is exceeded the connection is closed; with less than half of it left no further request is sent there.
    static let overhead = 131_072
    static let overheadPerRequest = 1_024
    /// Streams of an HTTP/2 connection that may end without a reply, cancelled by us or reset by the server, before no
    /// further request is sent there. Servers count them and close the connection, with all streams on it
    /// (CVE-2023-44487).
    static let lostStreams = 20
    /// The most bytes of a TLS handshake.
    static let handshake = 262_144
    /// Seconds without use after which a connection is not used again: fewer than servers usually wait (nginx 75).
    static let connectionIdle = 55
    /// Seconds after which a connection is not used again, so that the certificate is verified from time to time.
    static let connectionLifetime = 3_600
    /// Seconds of silence before the kernel's first TCP keep-alive probe, and between two probes.
    static let keepAliveIdle: Int32 = 20
    static let keepAliveInterval: Int32 = 5
    /// Time without an acknowledgement after which the kernel closes a connection (TCP_USER_TIMEOUT): it bounds how long a
    /// black hole goes undetected when every request is given up before its connection is tested.
    static let userTimeout: Duration = .seconds(3)
    /// The connections for requests whose connection broke, or that the server wants over HTTP/1.1: one request on each.
    static let separateConnections = 32
    /// How long nothing comes while requests wait until the other end is asked for a sign of life (PING), and how long after
    /// that it is dead without one.
    public static let test: Duration = .milliseconds(300)
    public static let silence: Duration = .milliseconds(600)
    /// The time since its last use after which a spare connection is renewed, while the old one is still usable.
    static let spareRenewal: Duration = .seconds(50)
    /// Seconds after which the file of trust anchors is read again.
    static let authorityCache = 86_400
}
