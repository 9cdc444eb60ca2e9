import DNSResolver
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing
import Upstreams

/// Handshakes with real servers. Neither on the loop nor in parallel: making certificates blocks the thread.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct CertificateCheckTests {
    /// One handshake with a server of this kind.
    private func shakeHands(
        _ servers: CertificateServers, _ kind: CertificateServers.Kind, as name: String = CertificateServers.name,
        within limit: Duration = .patience, authority: String? = nil
    ) async throws -> HandshakeOutcome {
        let check = CertificateCheck(caFile: authority ?? servers.authority, loop: LoopRunner.shared.loop)
        return await check.shakeHands(
            with: try #require(IPAddress(kind.address)), port: servers.port, as: try Name(name),
            until: .bootTime + limit)
    }

    @Test func `a certificate is checked also by a process without a standard input`() async throws {
        let servers = try CertificateServers()
        await #expect(processExitsWith: .success) {
            [port = servers.port as UInt16, authority = servers.authority as String] in
            let check = CertificateCheck(caFile: authority, loop: LoopRunner.shared.loop)
            let address = try #require(IPAddress(CertificateServers.Kind.honest.address))
            close(STDIN_FILENO)
            for _ in 0..<2 {
                let outcome = await check.shakeHands(
                    with: address, port: port, as: try Name(CertificateServers.name), until: .bootTime + .patience)
                guard outcome == .verified else { exit(1) }
            }
        }
        withExtendedLifetime(servers) {}
    }

    @Test func `a wrong certificate is recorded as evidence`() async throws {
        let servers = try CertificateServers()
        for (kind, reason) in [
            (CertificateServers.Kind.otherName, "the certificate is for another name"),
            (.selfSigned, "the certificate's issuer is not known"),
        ] {
            guard case .wrongCertificate(let evidence) = try await shakeHands(servers, kind) else {
                Issue.record("\(kind): not a wrong certificate")
                continue
            }
            #expect(evidence.reason == reason)
            #expect(evidence.subject == "CN=leaf" && evidence.issuer == "CN=httpdnsd tests")
            #expect(evidence.fingerprint.count == 64)
        }
    }

    @Test func `whatever its time, a certificate for another name is wrong, and so is a forged one`() async throws {
        let servers = try CertificateServers()
        for (kind, name) in [
            (CertificateServers.Kind.expired, "www.example.net"), (.early, "www.example.net"),
            (.forged, CertificateServers.name),
        ] {
            guard case .wrongCertificate = try await shakeHands(servers, kind, as: name) else {
                Issue.record("\(kind): not a wrong certificate")
                continue
            }
        }
    }

    @Test func `a server that refuses has no TLS; of one that only accepts nothing is known`() async throws {
        let servers = try CertificateServers()
        #expect(try await shakeHands(servers, .refusing) == .noTLS)
        // Long enough for a busy loop to see that it has accepted.
        #expect(try await shakeHands(servers, .silent, within: .seconds(1)) == .unclear)
    }

    @Test func `an address that accepts no connection in time is silent`() async throws {
        let hole = try BlackHole(.dropping, addresses: 1, network: 61)
        let check = CertificateCheck(loop: LoopRunner.shared.loop)
        let outcome = await check.shakeHands(
            with: try #require(IPAddress("127.0.61.1")), port: hole.addresses[0].port,
            as: try Name(CertificateServers.name), until: .bootTime + .milliseconds(100))
        #expect(outcome == .silent)
        withExtendedLifetime(hole) {}
    }

    @Test func `an address that cannot be reached is unreachable, and not without TLS`() async throws {
        // No TCP connection can be made to a broadcast address, whatever routes there are.
        let check = CertificateCheck(loop: LoopRunner.shared.loop)
        let outcome = await check.shakeHands(
            with: try #require(IPAddress("255.255.255.255")), port: 443, as: try Name(CertificateServers.name),
            until: .bootTime + .patience)
        #expect(outcome == .unreachable)
    }

    @Test func `authorities that cannot be read are no evidence against a server`() async throws {
        let servers = try CertificateServers()
        #expect(try await shakeHands(servers, .honest, authority: "/nonexistent/ca.pem") == .unclear)
    }

    @Test func `a handshake that is not wanted any more ends at once`() async throws {
        let servers = try CertificateServers()
        let task = Task { try await shakeHands(servers, .silent, within: .seconds(60)) }
        await Task.yield()
        task.cancel()
        #expect(try await task.value == .cancelled)
    }

    @Test(arguments: ["%77ww.example.com", "www.example.com.0x7f000001", "192.0.2.1", "a@www.example.com", "."])
    func `a name that no certificate can have is not checked, and its address not known`(name: String) async throws {
        let check = CertificateCheck(loop: LoopRunner.shared.loop)
        let outcome = await check.shakeHands(
            with: .v4(0x7f00_0001), port: 1, as: try Name(name), until: .bootTime + .patience)
        #expect(outcome == .unclear)
    }

    @Test func `what a certificate says is bounded, and acts on no terminal`() async throws {
        let hostile = try CertificateServers(subject: "\u{1b}[2J\u{202e}" + String(repeating: "x", count: 40))
        let check = CertificateCheck(caFile: hostile.authority, loop: LoopRunner.shared.loop)
        let outcome = await check.shakeHands(
            with: try #require(IPAddress(CertificateServers.Kind.otherName.address)), port: hostile.port,
            as: try Name(CertificateServers.name), until: .bootTime + .patience)
        guard case .wrongCertificate(let evidence) = outcome else {
            Issue.record("not a wrong certificate")
            return
        }
        #expect(evidence.subject.hasPrefix("CN=\\1B[2J\\C3\\A2"))
        #expect(evidence.subject.utf8.allSatisfy { (0x20...0x7e).contains($0) })
    }

    @Test func `many handshakes at once each have their own verdict, and no connection stays`() async throws {
        let servers = try CertificateServers()
        let check = CertificateCheck(caFile: servers.authority, loop: LoopRunner.shared.loop)
        let kinds = CertificateServers.Kind.allCases.filter { $0 != .silent }
        let port = servers.port
        // In any letter case.
        let name = try Name("WWW.Example.COM")
        let outcomes = await withTaskGroup(of: (Int, HandshakeOutcome).self) { group in
            for number in 0..<16 {
                let kind = kinds[number % kinds.count]
                group.addTask {
                    guard let address = IPAddress(kind.address) else { return (number, .cancelled) }
                    return (
                        number,
                        await check.shakeHands(with: address, port: port, as: name, until: .bootTime + .patience)
                    )
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (number, outcome) in outcomes {
            switch (kinds[number % kinds.count], outcome) {
            case (.honest, .verified), (.plain, .noTLS), (.refusing, .noTLS): break
            case (.expired, .wrongTime), (.early, .wrongTime): break
            case (let kind, .wrongCertificate): #expect(CertificateServers.Kind.forgers.contains(kind))
            default: Issue.record("\(kinds[number % kinds.count]): \(outcome)")
            }
        }
        #expect(descriptors(connectedTo: port) == 0)
    }

    // MARK: Servers that do harm

    /// One handshake with a server of this port, as its own name.
    private func shakeHands(port: UInt16, _ certificates: TestCertificates) async throws -> HandshakeOutcome {
        let check = CertificateCheck(caFile: certificates.authority, loop: LoopRunner.shared.loop)
        return await check.shakeHands(
            with: try #require(IPAddress("127.0.0.1")), port: port, as: try Name("right.example"),
            until: .bootTime + .patience)
    }

    @Test(arguments: [(1, false), (8, false), (8, true), (15, false), (4_096, false)])
    func `a server that asks for a handshake without end during one is not read to the end`(
        inRecord: Int, hasAlerts: Bool
    ) async throws {
        // HelloRequests of TLS 1.2 (RFC 5246 section 7.4.1.1), and a warning that it does not renegotiate.
        let record: [UInt8] = [22, 3, 3, UInt8(inRecord >> 6), UInt8(inRecord << 2 & 255)]
        let requests = record + [UInt8](repeating: 0, count: 4 * inRecord)
        let part = requests + (hasAlerts ? [21, 3, 3, 0, 2, 1, 100] : [])
        let many = Array([[UInt8]](repeating: part, count: 16_384 / part.count + 1).joined())
        let server = try RawServer(many, count: 4_096)
        defer { server.stop() }
        #expect(try await shakeHands(port: server.port, TestCertificates()) == .noTLS)
        #expect(server.sent < 4_096 * many.count)
    }

    @Test func `an alert about certificates from a server that presented none is no wrong certificate`() async throws {
        // Fatal, certificate_expired.
        let server = try RawServer([21, 3, 3, 0, 2, 2, 45])
        defer { server.stop() }
        #expect(try await shakeHands(port: server.port, TestCertificates()) == .noTLS)
    }

    @Test(arguments: ["ffdhe2048", "DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"])
    func `a server whose exchange of keys may cost the client much has no handshake`(exchange: String) async throws {
        let certificates = try TestCertificates()
        let server = try CertificateServer.exchanging(
            exchange, certificates.leaf(names: ["right.example"], isRSA: true))
        let outcome = try await shakeHands(port: server.port, certificates)
        #expect(outcome == (exchange.hasPrefix("ECDHE") ? .verified : .noTLS))
    }
}
