import COpenSSL
public import DNSResolver
public import DNSWire
import Glibc
import HTTPDNS
public import Platform

/// TLS handshakes with any server, to check whether its certificate is valid for a name. Nothing is sent after the
/// handshake. Each has its own connection, which is closed at its end.
@Loop
public final class CertificateCheck: Handshake {
    private let authorities: String
    private let paths: NetworkPaths
    private let loop: EventLoop

    /// Trust anchors are those of a PEM file, the system's except in tests. What `paths` says is unreachable now is not
    /// tried: `.unreachable`.
    public nonisolated init(
        caFile: String = HTTPOrigin.defaultCAFile, paths: NetworkPaths = NetworkPaths(), loop: EventLoop
    ) {
        authorities = caFile
        self.paths = paths
        self.loop = loop
    }

    public func shakeHands(
        with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant
    ) async -> HandshakeOutcome {
        guard let host = name.certificateHost else { return .unclear }
        guard paths.unreachableReason(for: address) == nil else { return .unreachable }
        let origin = HTTPOrigin(scheme: .https, address: address, port: port, hosts: [host], caFile: authorities)
        let handshake = CertificateHandshake(with: origin, for: self)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: .cancelled) }
                handshake.begin(until: deadline, on: loop, continuation)
            }
        } onCancel: {
            Loop.spawn { handshake.end(.cancelled) }
        }
    }

    /// How a handshake ended whose connection could not be made.
    ///
    /// EHOSTUNREACH alone does not say that there is no route to the address: a router also sends ICMP "administratively
    /// prohibited" for a server's closed port, and then the kernel has a route.
    fileprivate func outcome(ofConnecting error: SystemError, to address: IPAddress) -> HandshakeOutcome {
        switch error.code {
        // Nothing is left of it in this process: that says nothing about the server.
        case _ where error.shortage != nil: .cancelled
        case ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: .unreachable
        case EHOSTUNREACH, EACCES, EINVAL: paths.hasRoute(to: address) ? .noTLS : .unreachable
        default: .noTLS
        }
    }
}

/// One handshake in progress.
@Loop
private final class CertificateHandshake {
    private let origin: HTTPOrigin
    private let check: CertificateCheck
    /// Nil before it begins, and once it has ended.
    private var socket: ServiceSocket?
    /// The socket's number.
    private var number: Int32 = -1
    private var isConnected = false
    private var timer: LoopTimer?
    private var continuation: CheckedContinuation<HandshakeOutcome, Never>?

    init(with origin: HTTPOrigin, for check: CertificateCheck) {
        self.origin = origin
        self.check = check
    }

    /// Starts to connect.
    func begin(
        until deadline: Instant, on loop: EventLoop, _ continuation: CheckedContinuation<HandshakeOutcome, Never>
    ) {
        self.continuation = continuation
        let descriptor: Descriptor
        do throws(SystemError) {
            descriptor = try .connecting(to: SocketAddress(origin.address, port: origin.port), .tcp)
        } catch {
            return failed(error)
        }
        number = descriptor.number
        do throws(UpstreamFailure) {
            let authorities = try TLSAuthorities.read(origin.caFile, at: loop.now)
            let tls = try TLSChannel(authorities, host: origin.hosts[0], session: nil)
            let socket = ServiceSocket(consume descriptor, to: origin.addressText, by: tls)
            self.socket = socket
            try socket.watch(on: loop) { [self] in serve($0) }
        } catch {
            return end(error.isOurs ? .cancelled : .unclear)
        }
        timer = loop.schedule(at: deadline) { [self] in end(isConnected ? .unclear : .silent) }
    }

    /// - Parameter error: why there is no connection.
    private func failed(_ error: SystemError) { end(check.outcome(ofConnecting: error, to: origin.address)) }

    private func serve(_ ready: Interest) {
        if !isConnected {
            if let error = connectingError(of: number) { return failed(error) }
            isConnected = true
        }
        do throws(UpstreamFailure) {
            try socket?.serve(ready) { event in
                if case .isReady = event { end(.verified) }
            }
        } catch {
            end(outcome(of: error))
        }
    }

    private func outcome(of failure: UpstreamFailure) -> HandshakeOutcome {
        guard case .certificate(let reason) = failure, let tls = socket?.tls, let evidence = tls.evidence(reason)
        else { return .noTLS }
        return tls.isWrongInTimeAlone ? .wrongTime : .wrongCertificate(evidence)
    }

    /// Does nothing after the first time.
    func end(_ outcome: HandshakeOutcome) {
        guard let continuation = continuation.take() else { return }
        timer.take()?.cancel()
        // The alert that says what is wrong, or that this is the end.
        socket.take()?.close(saysGoodbye: outcome == .verified)
        continuation.resume(returning: outcome)
    }
}

extension Name {
    /// The name as a host that a certificate can be for; nil for a numeric address, and for characters that no host has.
    var certificateHost: String? {
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

extension CertificateEvidence {
    /// Bytes of a name that are recorded: the other end chose it.
    private static let longestName = 256

    /// The details of a certificate: an `X509`, borrowed.
    init(_ reason: String, of certificate: OpaquePointer) {
        // Otherwise the next TLS call on this thread would find an error of another call.
        defer { ERR_clear_error() }
        let subject = unsafe Self.text(X509_get_subject_name(certificate))
        let issuer = unsafe Self.text(X509_get_issuer_name(certificate))
        let fingerprint = unsafe Self.fingerprint(certificate)
        self.init(reason: reason, subject: subject, issuer: issuer, fingerprint: fingerprint)
    }

    private static func text(_ name: OpaquePointer?) -> String {
        guard let name = unsafe name, let memory = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(memory) }
        guard unsafe X509_NAME_print_ex(memory, name, 0, copenssl_name_form) >= 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: longestName + 1)
        let count = unsafe BIO_read(memory, &bytes, Int32(bytes.count))
        guard count > 0 else { return "" }
        let text = String(
            decoding: bytes.prefix(min(Int(count), longestName)).map { (0x20...0x7e).contains($0) ? $0 : 0x3f },
            as: UTF8.self)
        return count > longestName ? text + "..." : text
    }

    private static func fingerprint(_ certificate: OpaquePointer) -> String {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        guard unsafe X509_digest(certificate, EVP_sha256(), &digest, &length) == 1 else { return "" }
        return TextEncoding.hexadecimal(digest.prefix(Int(length)))
    }
}
