import COpenSSL
import DNSResolver
import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import Upstreams

/// Files of a certificate, all in PEM, which exist as long as what made it.
struct MadeCertificate {
    /// What the client trusts.
    let authority: String
    /// What the server presents: its certificate, and the authorities above it but for the root.
    let chain: String
    let key: String
    /// The time of the verification, in seconds since 1970; now, if nil.
    var time: Int?

    /// A certificate for which there is no verdict, since the handshake ends before.
    struct NotJudged: Error {
        let reason: String
    }

    /// The `openssl` command's verdict, the reference.
    func isAccepted(as host: String) throws -> Bool {
        let expected =
            host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." } ? "-verify_ip" : "-verify_hostname"
        return try ChildProcess.run(
            [
                "openssl", "verify", "-purpose", "sslserver", "-partial_chain", "-no-CApath", "-no-CAstore", "-CAfile",
                authority, "-untrusted", chain, expected, host,
            ] + (time.map { ["-attime", "\($0)"] } ?? []) + [chain]
        ).status == 0
    }

    /// The verdicts of this program's two ways: the channel's, and that of the check of LocalDNS's addresses, which is
    /// for names alone, and for now.
    ///
    /// - Throws: `NotJudged`.
    func verdicts(as host: String) async throws -> [String: Bool] {
        let server = try CertificateServer(chain: chain, key: key)
        var verdicts = ["channel": try await channelAccepts(as: host, at: server.port)]
        // A name of DNS has no final dot left.
        if IPAddress(host) == nil, !host.hasSuffix("."), time == nil {
            let check = CertificateCheck(caFile: authority, loop: LoopRunner.shared.loop)
            let outcome = await check.shakeHands(
                with: .v4(0x7f00_0001), port: server.port, as: try Name(host), until: .bootTime + .patience)
            switch outcome {
            case .wrongCertificate, .wrongTime, .noTLS, .unclear: verdicts["check"] = false
            case .silent, .unreachable, .cancelled: throw TestFailure("no verdict: \(outcome)")
            default: verdicts["check"] = true
            }
        }
        return verdicts
    }

    private func channelAccepts(as host: String, at port: UInt16) async throws -> Bool {
        let authorities = try await TLSAuthorities.read(authority, at: .bootTime)
        if let time { X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(authorities.store), time) }
        let channel = try TLSChannel(authorities, host: host, session: nil)
        let socket = try TestSocket.connection(to: TestAddress("127.0.0.1", port: port), from: nil)
        while true {
            do throws(UpstreamFailure) {
                if try channel.shakeHands() != nil { return true }
            } catch {
                guard case .certificate = error else { throw NotJudged(reason: "\(error)") }
                return false
            }
            var pending: [UInt8] = []
            channel.sendPending {
                pending = Array($0)
                return $0.count
            }
            try socket.write(pending)
            let bytes = try #require(socket.receive(.patience)).bytes
            guard !bytes.isEmpty else { throw TestFailure("the server has ended the connection") }
            _ = bytes.withUnsafeBytes { channel.receive($0) }
        }
    }
}
