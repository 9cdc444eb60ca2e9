import CCurl
import HTTPDNS
import Scheduling

/// One easy handle with the fixed settings of its address, used for one request after the other.
@Loop
final class HTTPHandle {
    private let easy: CurlEasy
    private var headers: CurlList
    private var body: [UInt8] = []
    private var headerSize = 0
    private unowned let sockets: HTTPSockets
    /// The connection that the request was sent on; nil until then.
    private(set) var connection: HTTPConnection?
    /// The connection's count of received bytes when the request was sent.
    private var receivedBefore: Int64?
    private var permit: HTTPTransfers.Permit?

    /// - Parameters: `sockets`, `share` and `connectTo` must outlive the handle.
    init(
        _ origin: HTTPOrigin, sockets: HTTPSockets, share: borrowing CurlShare, connectTo: borrowing CurlList
    ) throws(CurlError) {
        easy = try CurlEasy()
        headers = try CurlList([])
        self.sockets = sockets
        try setDestination(origin, connectTo)
        try setConnections(origin)
        try setTLS(origin, share)
        try setCallbacks()
    }

    /// For libcurl.
    var pointer: UnsafeMutableRawPointer { easy.pointer }

    // MARK: Settings

    /// Where to, and nowhere else: an address is given, so libcurl resolves nothing; the environment counts for nothing.
    private func setDestination(_ origin: HTTPOrigin, _ connectTo: borrowing CurlList) throws(CurlError) {
        try easy.set(CURLOPT_CONNECT_TO, list: connectTo.pointer)
        try easy.set(CURLOPT_PROXY, text: "")
        try easy.set(CURLOPT_NOPROXY, text: "")
        try easy.set(CURLOPT_PROTOCOLS_STR, text: origin.scheme.rawValue)
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        try easy.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try easy.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try easy.set(CURLOPT_PATH_AS_IS, 1)
        try easy.set(CURLOPT_USERAGENT, text: "httpdnsd")
    }

    private func setConnections(_ origin: HTTPOrigin) throws(CurlError) {
        try easy.set(CURLOPT_NOSIGNAL, 1)
        let isSecure = origin.scheme == .https
        try easy.set(CURLOPT_HTTP_VERSION, isSecure ? Int(CURL_HTTP_VERSION_2TLS) : Int(CURL_HTTP_VERSION_1_1))
        // Parallel first requests wait for one connection instead of opening one each.
        try easy.set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0)
        try easy.set(CURLOPT_MAXAGE_CONN, HTTPLimits.connectionIdle)
        try easy.set(CURLOPT_MAXLIFETIME_CONN, HTTPLimits.connectionLifetime)
        try easy.set(CURLOPT_TCP_NODELAY, 1)
        try easy.set(CURLOPT_TCP_KEEPALIVE, 1)
        try easy.set(CURLOPT_TCP_KEEPIDLE, HTTPLimits.keepAliveIdle)
        try easy.set(CURLOPT_TCP_KEEPINTVL, HTTPLimits.keepAliveInterval)
        try easy.set(CURLOPT_MAXFILESIZE, HTTPLimits.body)
    }

    private func setTLS(_ origin: HTTPOrigin, _ share: borrowing CurlShare) throws(CurlError) {
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // A directory would switch the cache of authorities off: each handshake would read all of them again.
        try easy.set(CURLOPT_CAPATH, text: nil)
        try easy.set(CURLOPT_CAINFO, text: origin.caFile)
        if !origin.pins.isEmpty { try easy.set(CURLOPT_PINNEDPUBLICKEY, text: origin.pins.joined(separator: ";")) }
        try easy.set(CURLOPT_CA_CACHE_TIMEOUT, HTTPLimits.authorityCache)
        try checked(ccurl_set_share(easy.pointer, share.pointer))
    }

    private func setCallbacks() throws(CurlError) {
        try easy.set(CURLOPT_OPENSOCKETDATA, object: sockets)
        try checked(ccurl_set_open_socket(easy.pointer, curlOpenSocket))
        try easy.set(CURLOPT_CLOSESOCKETDATA, object: sockets)
        try checked(ccurl_set_close_socket(easy.pointer, curlCloseSocket))
        try easy.set(CURLOPT_PREREQDATA, object: self)
        try checked(ccurl_set_before_request(easy.pointer, curlBeforeRequest))
        try easy.set(CURLOPT_WRITEDATA, object: self)
        try checked(ccurl_set_on_body(easy.pointer, curlReceiveBody))
        try easy.set(CURLOPT_HEADERDATA, object: self)
        try checked(ccurl_set_on_header(easy.pointer, curlReceiveHeader))
    }

    // MARK: A request

    /// Makes ready for one request.
    ///
    /// - Parameters:
    ///   - isFresh: whether it must not go out on a connection that is open already.
    ///   - permit: asked just before it is sent.
    func prepare(
        _ request: HTTPRequest, url: String, isFresh: Bool, permit: HTTPTransfers.Permit?
    ) throws(CurlError) {
        self.permit = permit
        try easy.set(CURLOPT_URL, text: url)
        try easy.set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
        let list = try CurlList(request.headers.map { $0.joined(separator: ": ") })
        try easy.set(CURLOPT_HTTPHEADER, list: list.pointer)
        headers = list
        guard let body = request.body else { return try easy.set(CURLOPT_HTTPGET, 1) }
        try checked(ccurl_set_post(easy.pointer, body, curl_off_t(body.count)))
    }

    /// Forgets the reply.
    func reset() {
        body = []
        headerSize = 0
        connection = nil
        receivedBefore = nil
        permit = nil
    }

    /// Whether anything has arrived on the connection since the request was sent on it; nil if it was not sent, its
    /// connection is gone, or the kernel cannot tell.
    var hasConnectionReceived: Bool? { connection?.hasReceived(since: receivedBefore) }

    // MARK: From libcurl

    /// - Returns: whether it may be sent.
    func isAboutToSend(localPort: UInt16) -> Bool {
        connection = sockets.willSend(localPort: localPort)
        receivedBefore = connection?.bytesReceived
        return permit?() ?? true
    }

    /// - Returns: whether the body still is within its limit.
    func receiveBody(_ part: UnsafeRawBufferPointer) -> Bool {
        guard body.count + part.count <= HTTPLimits.body else { return false }
        body.append(contentsOf: part)
        return true
    }

    /// - Returns: whether the header still is within its limit.
    func receiveHeader(_ size: Int) -> Bool {
        headerSize += size
        return headerSize <= HTTPLimits.header
    }

    // MARK: The end

    /// The reply of a transfer that has ended well.
    var response: HTTPResponse {
        HTTPResponse(
            status: easy.long(CURLINFO_RESPONSE_CODE) ?? 0, contentType: easy.header("content-type"),
            age: easy.header("age").flatMap(Self.seconds),
            retryAfter: easy.offset(CURLINFO_RETRY_AFTER).flatMap { $0 > 0 ? UInt32(clamping: $0) : nil },
            date: easy.header("date").flatMap(Self.date), body: body)
    }

    /// Whether the reply came over HTTP/2.
    var isMultiplexed: Bool { easy.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) }

    /// From sending the request to the first byte of its reply.
    var timeToFirstByte: Duration? {
        guard let sent = easy.offset(CURLINFO_PRETRANSFER_TIME_T),
            let first = easy.offset(CURLINFO_STARTTRANSFER_TIME_T), first >= sent
        else { return nil }
        return .microseconds(first - sent)
    }

    /// Whether the request went out on a connection that was open before.
    var wasReused: Bool { easy.long(CURLINFO_NUM_CONNECTS) == 0 }

    /// OpenSSL's verdict on the certificate; 0 is good.
    var verification: Int? { easy.long(CURLINFO_SSL_VERIFYRESULT) }

    /// A count of seconds, as far as 32 bits go; nil for anything but digits.
    private static func seconds(_ text: String) -> UInt32? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return UInt32(text) ?? .max
    }

    /// An HTTP date in seconds since 1970; nil for what is none.
    private static func date(_ text: String) -> Int64? {
        let time = curl_getdate(text, nil)
        return time < 0 ? nil : Int64(time)
    }
}
