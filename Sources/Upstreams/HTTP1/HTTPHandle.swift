import CCurl
import HTTPDNS
import Scheduling

/// One easy handle with the fixed options of its address, used for consecutive requests.
@Loop
final class HTTPHandle {
    private let easy: CurlEasy
    private let origin: HTTPOrigin
    private let reply: HTTPReply
    private unowned let sockets: HTTPSockets
    /// The request that it carries.
    private(set) var transfer: HTTPTransfer?
    /// The connection on which the request was sent; nil until then.
    private(set) var connection: HTTPConnection?
    /// Whether all connections were shut down before it had one.
    private var lostConnection = false
    // The current values of options that may differ between requests.
    private var host: Int?
    private var url: CurlURL?
    private var isFresh = false
    private var fields: [[String]]?
    private var headers: CurlList
    private var hasBody = false

    /// - Parameters: `sockets`, `share` and `connectTo` must outlive the handle.
    init(
        _ origin: HTTPOrigin, sockets: HTTPSockets, share: borrowing CurlShare, connectTo: borrowing CurlList
    ) throws(CurlError) {
        easy = try CurlEasy()
        reply = HTTPReply(isDocument: origin.hasDocuments)
        headers = try CurlList([])
        self.origin = origin
        self.sockets = sockets
        try setDestination(origin, connectTo)
        try setConnections(origin)
        try setTLS(origin, share)
        try setCallbacks()
    }

    /// For libcurl.
    var pointer: UnsafeMutableRawPointer { unsafe easy.pointer }

    // MARK: Settings

    /// The destination is fixed: an address is given, so libcurl resolves nothing, and the environment is ignored.
    private func setDestination(_ origin: HTTPOrigin, _ connectTo: borrowing CurlList) throws(CurlError) {
        unsafe try easy.set(CURLOPT_CONNECT_TO, list: connectTo.pointer)
        try easy.set(CURLOPT_PROXY, text: origin.proxy.map { "http://\($0)" } ?? "")
        try easy.set(CURLOPT_HTTPPROXYTUNNEL, 1)
        // The proxy's reply header is not part of the service's reply.
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
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
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try easy.set(CURLOPT_MAXAGE_CONN, HTTPLimits.connectionIdle)
        try easy.set(CURLOPT_MAXLIFETIME_CONN, HTTPLimits.connectionLifetime)
        try easy.set(CURLOPT_TCP_NODELAY, 1)
        try easy.set(CURLOPT_TCP_KEEPALIVE, 1)
        try easy.set(CURLOPT_TCP_KEEPIDLE, HTTPLimits.keepAliveIdle)
        try easy.set(CURLOPT_TCP_KEEPINTVL, HTTPLimits.keepAliveInterval)
        try easy.set(CURLOPT_MAXFILESIZE, origin.bodyLimit)
        try easy.set(CURLOPT_BUFFERSIZE, HTTPLimits.buffer)
    }

    private func setTLS(_ origin: HTTPOrigin, _ share: borrowing CurlShare) throws(CurlError) {
        try easy.setTrust(in: origin.caFile)
        if !origin.pins.isEmpty { try easy.set(CURLOPT_PINNEDPUBLICKEY, text: origin.pins.joined(separator: ";")) }
        try easy.set(CURLOPT_SSL_CTX_DATA, object: self)
        unsafe try checked(ccurl_set_on_tls(easy.pointer, curlRequireName))
        unsafe try checked(ccurl_set_share(easy.pointer, share.pointer))
    }

    private func setCallbacks() throws(CurlError) {
        try easy.set(CURLOPT_PRIVATE, object: self)
        try easy.setSockets(sockets)
        try easy.set(CURLOPT_PREREQDATA, object: self)
        unsafe try checked(ccurl_set_before_request(easy.pointer, curlBeforeRequest))
        try easy.set(CURLOPT_WRITEDATA, object: reply)
        unsafe try checked(ccurl_set_on_body(easy.pointer, curlReceiveBody))
        try easy.set(CURLOPT_HEADERDATA, object: reply)
        unsafe try checked(ccurl_set_on_header(easy.pointer, curlReceiveHeader))
    }

    // MARK: A request

    /// Sets the options of one request.
    ///
    /// Options that have not changed since the last request are not set again: each call costs time.
    /// - Parameter isFresh: whether it must be sent on a new connection.
    func prepare(_ transfer: HTTPTransfer, isFresh: Bool) throws(CurlError) {
        let request = transfer.request
        if transfer.host != host {
            try setURL(origin.url(host: transfer.host))
            host = transfer.host
        }
        try easy.set(CURLOPT_REQUEST_TARGET, text: origin.target(of: request))
        if isFresh != self.isFresh {
            try easy.set(CURLOPT_FRESH_CONNECT, isFresh ? 1 : 0)
            self.isFresh = isFresh
        }
        if request.headers != fields {
            // An option of libcurl's for this field would make it decompress what the server compresses all the same.
            let fixed = ["Accept-Encoding: identity"]
            let list = try CurlList(fixed + request.headers.map { $0.joined(separator: ": ") })
            unsafe try easy.set(CURLOPT_HTTPHEADER, list: list.pointer)
            headers = list
            fields = request.headers
        }
        if let body = request.body {
            unsafe try checked(ccurl_set_post(easy.pointer, body, curl_off_t(body.count)))
        } else if hasBody {
            try easy.set(CURLOPT_HTTPGET, 1)
        }
        hasBody = request.body != nil
        self.transfer = transfer
    }

    private func setURL(_ text: String) throws(CurlError) {
        let url = try CurlURL(text)
        // Otherwise libcurl would go on reporting the last URL's text.
        try easy.set(CURLOPT_URL, text: nil)
        unsafe try checked(ccurl_set_url(easy.pointer, url.pointer))
        self.url = consume url
    }

    /// Clears the request and its reply.
    func reset() {
        transfer = nil
        connection = nil
        lostConnection = false
        reply.reset()
    }

    // MARK: From libcurl

    /// The name that a new connection's certificate must be for; nil before the first request.
    var expectedName: String? { host.map { origin.hosts[$0] } }

    /// - Returns: whether it may be sent.
    func isAboutToSend(localPort: UInt16) -> Bool {
        connection = sockets.connection(localPort: localPort)
        guard let transfer else { return true }
        defer { transfer.isPermitted = false }
        return transfer.isPermitted || transfer.permit?() ?? true
    }

    // MARK: The end

    /// Notes that all connections are shut down: also the one which is being opened for it, if there is one.
    func noteEviction() { lostConnection = connection == nil }

    /// Whether its connection was shut down by us.
    var isEvicted: Bool { lostConnection || connection?.isEvicted == true }

    /// The reply of a transfer that has succeeded.
    var response: HTTPResponse {
        HTTPResponse(
            status: easy.long(CURLINFO_RESPONSE_CODE) ?? 0, contentType: reply.contentType, age: reply.age,
            retryAfter: reply.retryAfter, date: reply.date, entityTag: reply.entityTag,
            compression: reply.compression, body: reply.body, timeToFirstByte: timeToFirstByte)
    }

    /// The time from the sending of the request to the first byte of its reply.
    private var timeToFirstByte: Duration? {
        guard let sent = easy.offset(CURLINFO_PRETRANSFER_TIME_T),
            let first = easy.offset(CURLINFO_STARTTRANSFER_TIME_T), first >= sent
        else { return nil }
        return .microseconds(first - sent)
    }

    /// OpenSSL's verification result for the certificate; 0 is valid.
    var verification: Int? { easy.long(CURLINFO_SSL_VERIFYRESULT) }
}
