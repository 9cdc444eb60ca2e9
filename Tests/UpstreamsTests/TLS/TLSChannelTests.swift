import COpenSSL
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import Upstreams

/// TLS without a network: the channel and a server of OpenSSL's, whose bytes are passed directly. Not on the loop,
/// which would wait for the certificates.
struct TLSChannelTests {
    @Test func `a server that makes TLS answer without end, and takes none of it, is given up`() async throws {
        _ = LoopRunner.shared
        let certificates = try TestCertificates()
        let authorities = try await TLSAuthorities.read(certificates.authority, at: .bootTime)
        let server = try Server(certificates.leaf(names: ["right.example"]))
        let channel = try TLSChannel(authorities, host: "right.example", session: nil)
        try shakeHands(channel, server)
        // Each is answered with an alert that there is no renegotiation.
        let requests = try (0..<100).flatMap { _ in try server.handshakeRequest() }
        #expect(requests.count < 16_384)
        try take(requests, channel)
        #expect(channel.pendingCount > 0)
        #expect(throws: UpstreamFailure.network("the server takes nothing any more")) {
            for _ in 0..<100 { try take((0..<100).flatMap { _ in try server.handshakeRequest() }, channel) }
        }
    }

    @Test func `what is no file holds no authorities, and is not waited for`() async throws {
        _ = LoopRunner.shared
        let directory = try TemporaryDirectory()
        try #require(mkfifo(directory.path + "/pipe", 0o600) == 0)
        let authority = try TestCertificates().authority
        let large = directory.path + "/large.pem"
        try ChildProcess.succeed(["sh", "-c", "(cat '\(authority)'; head -c 1048576 /dev/zero) > '\(large)'"])
        for path in [directory.path + "/pipe", "/dev/zero", directory.path, "/nowhere", large] {
            await #expect(
                throws: UpstreamFailure.unusable("\(path) has no certificates of authorities that can be read")
            ) { try await TLSAuthorities.read(path, at: .bootTime) }
        }
    }

    @Test func `what the network takes in pieces goes out once and in its order`() async throws {
        _ = LoopRunner.shared
        let certificates = try TestCertificates()
        let authorities = try await TLSAuthorities.read(certificates.authority, at: .bootTime)
        let channel = try TLSChannel(authorities, host: "right.example", session: nil)
        try shakeHands(channel, Server(certificates.leaf(names: ["right.example"])))
        try channel.write([UInt8](repeating: 7, count: 10_000))
        var (whole, sent): ([UInt8], [UInt8]) = ([], [])
        channel.sendPending {
            whole = Array($0)
            return 0
        }
        for size in [1, 1_024, 0, 1_025, 3_000, Int.max] {
            channel.sendPending {
                let part = $0.prefix(size)
                sent += part
                return part.count
            }
        }
        #expect(sent == whole && whole.count > 10_000)
        #expect(channel.pendingCount == 0)
    }

    @Test func `a session is resumed in the time of all certificates of its chain alone`() async throws {
        _ = LoopRunner.shared
        let certificates = try TestCertificates()
        let authorities = try await TLSAuthorities.read(certificates.authority, at: .bootTime)
        // Its authority's certificate ends before the first of these times, and begins after the second one.
        let server = try Server(certificates.longLeaf(names: ["right.example"]))
        let first = try TLSChannel(authorities, host: "right.example", session: nil)
        try shakeHands(first, server)
        let session = try #require(first.resumable(verified: .bootTime))
        let second = try TLSChannel(authorities, host: "right.example", session: session)
        try shakeHands(second, Server(after: server))
        #expect(second.isResumed)
        let resumed = try #require(second.resumable(verified: .bootTime))
        for (time, reason) in [(4_000_000_000, "has expired"), (1_600_000_000, "is not valid yet")] {
            X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(authorities.store), time)
            for session in [session, resumed] {
                let third = try TLSChannel(authorities, host: "right.example", session: session)
                #expect(throws: UpstreamFailure.certificate("the certificate \(reason)")) {
                    try shakeHands(third, Server(after: server))
                }
            }
        }
    }

    private func shakeHands(_ channel: TLSChannel, _ server: Server) throws {
        for _ in 0..<10 {
            if try channel.shakeHands() != nil { return }
            channel.sendPending { server.receive($0) }
            _ = server.output().withUnsafeBytes { channel.receive($0) }
        }
        throw TestFailure("no end of the handshake")
    }

    /// Passes to the channel what the server has sent.
    private func take(_ bytes: [UInt8], _ channel: TLSChannel) throws {
        _ = bytes.withUnsafeBytes { channel.receive($0) }
        var buffer = [UInt8](repeating: 0, count: TLSChannel.recordSize)
        _ = try buffer.withUnsafeMutableBytes { buffer throws(UpstreamFailure) in try channel.read(into: buffer) }
    }
}

/// A server's end of a connection.
private final class Server {
    private let connection: OpaquePointer
    private let network: (input: OpaquePointer, output: OpaquePointer)

    /// It knows nothing newer than TLS 1.2.
    convenience init(_ leaf: TestCertificates.Leaf) throws {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw TestFailure("no memory") }
        defer { SSL_CTX_free(context) }
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        guard SSL_CTX_use_certificate_file(context, leaf.certificate, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_use_PrivateKey_file(context, leaf.key, SSL_FILETYPE_PEM) == 1
        else { throw TestFailure("no server") }
        try self.init(in: context)
    }

    /// The next connection of the same server.
    convenience init(after other: Server) throws { try self.init(in: SSL_get_SSL_CTX(other.connection)) }

    private init(in context: OpaquePointer) throws {
        guard let connection = SSL_new(context), let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem())
        else { throw TestFailure("no server") }
        SSL_set_bio(connection, input, output)
        SSL_set_accept_state(connection)
        (self.connection, network) = (connection, (input, output))
    }

    deinit { SSL_free(connection) }

    /// Takes what the client sends.
    ///
    /// - Returns: the number of bytes.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        BIO_write(network.input, bytes.baseAddress, Int32(bytes.count))
        SSL_do_handshake(connection)
        ERR_clear_error()
        return bytes.count
    }

    /// Asks for a new handshake (RFC 5246 section 7.4.1.1).
    func handshakeRequest() throws -> [UInt8] {
        guard SSL_renegotiate(connection) == 1, SSL_do_handshake(connection) == 1 else {
            throw TestFailure("no request for a handshake")
        }
        return output()
    }

    /// The bytes that it has to send.
    func output() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = BIO_read(network.output, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(max(0, Int(count))))
    }
}
