import DNSResolver
import DNSWire
import Foundation
import Platform
import TestServers
import TestSupport
import TestUpstreams
import Testing

@testable import Upstreams

/// The effect of forged look-ups of the service's host on addresses that work. Not all on the loop: starting nginx
/// blocks the thread.
@Suite(.timeLimit(.minutes(10)))
struct VerifiedAddressTests {
    private let certificates: TestCertificates
    private let nginx: Nginx
    private let good: SocketAddress
    /// Addresses that are not the service's: no server there has its certificate.
    private let forged: [SocketAddress]
    private let upstream: HTTPDNSProvider

    init() async throws {
        certificates = try TestCertificates()
        nginx = try Nginx(certificates.leaf(names: ["service.example"]))
        good = SocketAddress(HTTPFixture.loopback, port: nginx.address.port)
        forged = try (0..<3).map { _ in SocketAddress(HTTPFixture.loopback, port: try FreePort.next()) }
        let silent = FakeUpstream("bootstrap", .failure(.timeout), clock: ManualClock())
        var settings = HTTPDNSSettings(
            name: "service", format: PlainFormat(),
            origin: HTTPOrigin(scheme: .https, hosts: ["service.example"], caFile: certificates.authority),
            host: "service.example")
        settings.timeout = .patience
        upstream = await HTTPDNSProvider(
            settings, loop: LoopRunner.shared.loop, bootstrap: HostSources(localDNS: silent),
            timeOfDay: { 1_700_000_000 })
    }

    @concurrent private func format() async throws -> Nginx {
        try Nginx(certificates.leaf(names: ["service.example"]))
    }

    @Loop private func addresses() -> [String] { upstream.endpoints.map(\.name) }

    /// Whether an address answers.
    @Loop private func ask(_ address: SocketAddress) async throws -> Bool {
        let endpoint = try #require(upstream.endpoints.first { $0.name == "\(address)" })
        let question = UpstreamQuestion(name: try Name("www.example.com"), types: [.a], deadline: .bootTime + .patience)
        return await endpoint.ask(question).failure == nil
    }

    @Test @Loop func `an address that has answered stays beside new ones, second, with its connection`() async throws {
        upstream.update([good])
        #expect(try await ask(good))
        upstream.update(forged)
        #expect(addresses() == [forged[0], good, forged[1], forged[2]].map { "\($0)" })
        #expect(try await ask(good))
        #expect(await HTTPFixture.eventually { nginx.requests.count == 2 })
        #expect(nginx.connections == 1)
    }

    @Test @Loop func `it survives several forged look-ups, and none of their addresses stays`() async throws {
        upstream.update([good])
        _ = try await ask(good)
        for address in forged {
            upstream.update([address])
            _ = try await ask(address)
        }
        #expect(addresses() == [forged[2], good].map { "\($0)" })
    }

    @Test @Loop func `it is dropped once a new address has answered`() async throws {
        let next = try await format()
        let new = SocketAddress(HTTPFixture.loopback, port: next.address.port)
        upstream.update([good])
        _ = try await ask(good)
        upstream.update([new])
        #expect(addresses() == [new, good].map { "\($0)" })
        #expect(try await ask(new))
        #expect(addresses() == ["\(new)"])
    }

    @Test @Loop func `an address that never answered goes with the next look-up`() async throws {
        upstream.update([forged[0]])
        _ = try await ask(forged[0])
        upstream.update([good])
        #expect(addresses() == ["\(good)"])
    }

    @Test @Loop func `addresses that are not asked cost no descriptor`() throws {
        // Other tests of the process open and close descriptors: so the number here is far greater than theirs.
        let before = try openDescriptors()
        upstream.update((1...1_000).map { SocketAddress(HTTPFixture.loopback, port: $0) })
        #expect(try openDescriptors() < before + 1_000)
    }

    private func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
