import CCurl
package import DNSResolver
package import DNSWire
import Glibc
package import Platform
package import Scheduling

/// TLS handshakes with any server, to check whether its certificate is valid for a name. Nothing is sent after the
/// handshake.
///
/// Each handshake has its own connection, which is closed at its end. Names come from clients and addresses from
/// LocalDNS, so libcurl neither looks up a name nor rewrites its spelling.
@Loop
@safe package final class CertificateCheck: Handshake {
    private let authorities: String
    private let paths: NetworkPaths
    private let loop: EventLoop
    /// libcurl's state, made for the first handshake and reused: the trust anchors are read once.
    private var engine: Engine?
    private var attempts: [UnsafeMutableRawPointer: CertificateHandshake] = unsafe [:]

    /// - Parameters:
    ///   - caFile: a PEM file of trust anchors; the system's file except in tests.
    ///   - paths: says which addresses are unreachable now. They are not tried: the outcome is `.unreachable`.
    package nonisolated init(
        caFile: String = HTTPOrigin.defaultCAFile, paths: NetworkPaths = NetworkPaths(), loop: EventLoop
    ) {
        authorities = caFile
        self.paths = paths
        self.loop = loop
    }

    /// The number of open connections; each is closed with its handshake. For tests.
    package var openConnections: Int { engine?.sockets.openConnections ?? 0 }

    package func shakeHands(
        with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant
    ) async -> HandshakeOutcome {
        guard let host = name.urlHost else { return .unclear("no certificate can be for this name") }
        guard paths.unreachableReason(for: address) == nil else { return .unreachable }
        let started = Started()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: .cancelled) }
                do throws(CurlError) {
                    let attempt = try begin(SocketAddress(address, port: port), host, continuation)
                    started.attempt = attempt
                    attempt.timer = loop.schedule(at: deadline) { [weak self] in
                        self?.end(attempt, attempt.outcomeInTime)
                    }
                } catch {
                    continuation.resume(returning: .cancelled)
                }
            }
        } onCancel: {
            // May run inside one of libcurl's callbacks: only enqueue.
            Loop.spawn { started.attempt.map { self.end($0, .cancelled) } }
        }
    }

    /// Makes the attempt, created after the cancellation handler is installed, reachable from that handler.
    @Loop
    private final class Started {
        var attempt: CertificateHandshake?

        nonisolated init() {}
    }

    /// libcurl's multi handle with its sockets, shared by all handshakes: the connections and the trust anchors.
    @Loop
    private final class Engine {
        let multi: CurlMulti
        let sockets: HTTPSockets

        init(_ sockets: HTTPSockets) throws(CurlError) {
            self.sockets = sockets
            // Leaves room for connections that are being closed.
            multi = try CurlMulti(sockets, connections: 2 * AddressChecks.limit)
        }
    }

    private func begin(
        _ address: SocketAddress, _ host: String, _ continuation: CheckedContinuation<HandshakeOutcome, Never>
    ) throws(CurlError) -> CertificateHandshake {
        let engine = if let engine { engine } else { try makeEngine() }
        let attempt = try CertificateHandshake(
            address, host, authorities: authorities, sockets: engine.sockets, continuation)
        unsafe try engine.multi.add(attempt.easy.pointer)
        unsafe attempts[attempt.easy.pointer] = attempt
        return attempt
    }

    private func makeEngine() throws(CurlError) -> Engine {
        let engine = try Engine(HTTPSockets(loop: loop))
        engine.sockets.onReady = { [weak self] descriptor, ready in self?.serve(descriptor, ready) }
        self.engine = engine
        return engine
    }

    private func serve(_ descriptor: Int32?, _ ready: Interest) {
        guard let engine else { return }
        let events =
            (ready.contains(.readable) ? CURL_CSELECT_IN : 0) | (ready.contains(.writable) ? CURL_CSELECT_OUT : 0)
        engine.multi.act(on: descriptor, events)
        while let (easy, result) = unsafe engine.multi.nextEnded() {
            if let attempt = unsafe attempts[easy] { end(attempt, outcome(result, of: attempt, engine.sockets)) }
        }
    }

    private func outcome(_ code: CURLcode, of attempt: CertificateHandshake, _ sockets: HTTPSockets) -> HandshakeOutcome
    {
        switch code {
        case CURLE_OK: attempt.seen.isOutOfDate ? .wrongTime("the certificate is out of date") : .verified
        case CURLE_PEER_FAILED_VERIFICATION:
            refusal(attempt.easy.long(CURLINFO_SSL_VERIFYRESULT), of: attempt.seen)
        // No descriptor is left in this process: that says nothing about the server.
        case CURLE_COULDNT_CONNECT where sockets.shortage != nil: .cancelled
        case CURLE_COULDNT_CONNECT: isUnreachable(attempt) ? .unreachable : .noTLS
        case CURLE_OPERATION_TIMEDOUT: attempt.outcomeInTime
        default: .unclear(CurlError(code).description)
        }
    }

    /// Maps OpenSSL's verification result to an outcome.
    private func refusal(_ verification: Int?, of seen: SeenCertificate) -> HandshakeOutcome {
        // An alert of the server's about certificates ends in this result, too.
        guard seen.isPresented else { return .unclear("the server presented no certificate") }
        let reason = UpstreamFailure.certificateText(verification)
        return SeenCertificate.isOutOfDate(verification) ? .wrongTime(reason) : .wrongCertificate(seen.evidence(reason))
    }

    /// Whether there is no route to the address. EHOSTUNREACH alone does not decide it: a router also sends ICMP
    /// "administratively prohibited" for a server's closed port, and then the kernel has a route.
    private func isUnreachable(_ attempt: CertificateHandshake) -> Bool {
        switch attempt.easy.long(CURLINFO_OS_ERRNO).map(Int32.init(truncatingIfNeeded:)) {
        case ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: true
        case EHOSTUNREACH, EACCES, EINVAL: !paths.hasRoute(to: attempt.address)
        default: false
        }
    }

    private func end(_ attempt: CertificateHandshake, _ outcome: HandshakeOutcome) {
        guard unsafe attempts.removeValue(forKey: attempt.easy.pointer) != nil else { return }
        unsafe engine?.multi.remove(attempt.easy.pointer)
        attempt.end(outcome)
    }

    isolated deinit {
        unsafe attempts.values.forEach { end($0, .cancelled) }
    }
}

/// One handshake in progress.
@Loop
private final class CertificateHandshake {
    let easy: CurlEasy
    let address: IPAddress
    let seen: SeenCertificate
    var timer: LoopTimer?
    private let connectTo: CurlList
    private var continuation: CheckedContinuation<HandshakeOutcome, Never>?

    /// - Parameter sockets: must outlive the attempt.
    init(
        _ address: SocketAddress, _ host: String, authorities: String, sockets: HTTPSockets,
        _ continuation: CheckedContinuation<HandshakeOutcome, Never>
    ) throws(CurlError) {
        easy = try CurlEasy()
        self.address = address.ip
        seen = SeenCertificate(for: host)
        connectTo = try CurlList(["::\(address)"])
        self.continuation = continuation
        try setDestination("https://\(host)/")
        try setTLS(authorities)
        try setCallbacks(sockets)
    }

    /// Restricts the request to this URL over https, without a proxy, and the connection to the handshake.
    private func setDestination(_ url: String) throws(CurlError) {
        try easy.set(CURLOPT_URL, text: url)
        unsafe try easy.set(CURLOPT_CONNECT_TO, list: connectTo.pointer)
        try easy.set(CURLOPT_CONNECT_ONLY, 1)
        try easy.set(CURLOPT_PROXY, text: "")
        try easy.set(CURLOPT_NOPROXY, text: "")
        try easy.set(CURLOPT_PROTOCOLS_STR, text: "https")
        try easy.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try easy.set(CURLOPT_FRESH_CONNECT, 1)
        try easy.set(CURLOPT_FORBID_REUSE, 1)
    }

    private func setTLS(_ authorities: String) throws(CurlError) {
        try easy.setTrust(in: authorities)
        // A resumed session presents no certificate.
        try easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
    }

    private func setCallbacks(_ sockets: HTTPSockets) throws(CurlError) {
        try easy.setSockets(sockets)
        try easy.set(CURLOPT_SSL_CTX_DATA, object: seen)
        unsafe try checked(ccurl_set_on_tls(easy.pointer, curlWatchVerification))
    }

    /// The outcome where nothing has ended it in time.
    var outcomeInTime: HandshakeOutcome {
        seen.hasBegun ? .mute : .silent
    }

    func end(_ outcome: HandshakeOutcome) {
        timer?.cancel()
        timer = nil
        continuation.take()?.resume(returning: outcome)
    }
}

extension Name {
    /// The name as a host in a URL that libcurl takes unchanged; nil where it would read something else into it: an
    /// escape, a numeric address, characters not allowed in a host.
    var urlHost: String? {
        guard let last = labels.last, let initial = last.first, !(0x30...0x39).contains(initial) else { return nil }
        let isPlain = labels.allSatisfy { label in
            label.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
        }
        return isPlain ? description : nil
    }
}
