import DNSResolver
import DNSWire
import Synchronization
import TestSupport
import TestUpstreams
import Testing

/// The journal of forged responses.
@Suite(.onLoop) struct HijackJournalTests {
    /// A network with a hijacker, and the time of day.
    @Loop
    final class Network {
        private final class Time: Sendable {
            let seconds = Mutex<Int64>(0)
        }

        let clock = ManualClock()
        private(set) var events: [ResolverEvent] = []
        private(set) var journal: HijackJournal?
        private var checks: AddressChecks?
        private let handshake: FakeHandshake
        private let time = Time()

        init() {
            handshake = FakeHandshake(clock: clock)
            let time = time
            let journal = HijackJournal(timeOfDay: { time.seconds.withLock { $0 } }) { [unowned self] in
                events.append($0)
            }
            self.journal = journal
            checks = AddressChecks(
                ports: [443], handshake: handshake, journal: journal, timeOfDay: TimeOfDay(clock: clock), clock: clock)
        }

        /// A check of `name` fails, at this time of day.
        ///
        /// - Parameters:
        ///   - server: that answered with the address.
        ///   - fingerprint: of the certificate; empty: not available.
        func lie(
            about name: String, from address: String = "203.0.113.66", by server: String = "192.0.2.53:53",
            showing fingerprint: String = "", at seconds: Int64
        ) async throws {
            time.seconds.withLock { $0 = seconds }
            handshake.servers[address] = .init(
                .wrongCertificate(
                    CertificateEvidence(
                        reason: "the certificate is for another name", subject: "CN=hijacker", fingerprint: fingerprint)
                ))
            guard let ip = IPAddress(address), let checks else { return }
            let name = try Name(name)
            checks.forgetAll()
            let end = clock.now + .seconds(1)
            _ = checks.check(ip, of: name, from: server, for: .daemon, until: end) { _ in }
            await clock.advance(by: .zero)
        }
    }

    @Test @Loop func `the same forgery is one entry with its count and times, the latest first`() async throws {
        let network = Network()
        try await network.lie(about: "a.example.com", at: 100)
        try await network.lie(about: "b.example.com", at: 200)
        try await network.lie(about: "a.example.com", at: 300)
        let journal = try #require(network.journal)
        #expect(journal.entries.map(\.name.description) == ["a.example.com", "b.example.com"])
        let entry = try #require(journal.entries(of: try Name("a.example.com")).first)
        #expect(entry.count == 2 && entry.first == 100 && entry.last == 300)
        #expect(journal.total == 3)
        #expect(network.events.count == 3)
        #expect(
            network.events.first?.description
                == "LocalDNS is hijacked: it answered 203.0.113.66 for a.example.com, and the certificate is for another name: subject CN=hijacker"
        )
    }

    @Test @Loop func `one certificate at unrelated names' addresses is the network's, not LocalDNS's`() async throws {
        let network = Network()
        try await network.lie(about: "www.example.com", from: "192.0.2.1", showing: "aa", at: 100)
        try await network.lie(about: "www.example.net", from: "192.0.2.2", showing: "aa", at: 101)
        let last = try #require(network.events.last)
        #expect(last.description.hasPrefix("this network intercepts TLS: 192.0.2.2 for www.example.net shows"))
    }

    /// At one address, or one address each.
    @Test(arguments: [["192.0.2.1", "192.0.2.1", "192.0.2.1"], ["192.0.2.1", "192.0.2.2", "192.0.2.3"]]) @Loop
    func `a captive portal's certificate is reported once, and is no entry`(addresses: [String]) async throws {
        let network = Network()
        let names = ["www.example.com", "www.example.net", "www.example.org", "mail.example.org"]
        for (index, name) in names.enumerated() {
            let address = addresses[min(index, 2)]
            try await network.lie(about: name, from: address, showing: "aa", at: 100 + Int64(index))
        }
        let journal = try #require(network.journal)
        #expect(journal.entries.isEmpty && journal.total == 4)
        let portals = network.events.filter { if case .connectionsIntercepted = $0 { true } else { false } }
        #expect(portals.count == 1 && network.events.count == 2)
    }

    @Test @Loop func `what was written down before the portal was known is removed, also from storage`() async throws {
        let network = Network()
        let journal = try #require(network.journal)
        var stored: [String] = []
        journal.onRecord = { stored.append($0.name.description) }
        journal.onRemove = { entry in stored.removeAll { $0 == entry.name.description } }
        try await network.lie(about: "www.example.com", from: "192.0.2.9", showing: "bb", at: 99)
        try await network.lie(about: "www.example.net", showing: "aa", at: 100)
        #expect(stored == ["www.example.com", "www.example.net"])
        try await network.lie(about: "www.example.org", showing: "aa", at: 101)
        #expect(stored == ["www.example.com"])
        #expect(journal.entries.map(\.name.description) == stored)
    }

    @Test @Loop func `beside a portal a forgery with another certificate is written down`() async throws {
        let network = Network()
        try await network.lie(about: "www.example.com", showing: "aa", at: 100)
        try await network.lie(about: "www.example.net", showing: "aa", at: 101)
        try await network.lie(about: "www.bank.example", from: "192.0.2.2", showing: "bb", at: 102)
        #expect(try #require(network.journal).entries.map(\.name.description) == ["www.bank.example"])
    }

    @Test @Loop func `on another network, or two minutes later, a portal's certificate is a forgery`() async throws {
        for isOtherNetwork in [false, true] {
            let network = Network()
            try await network.lie(about: "www.example.com", showing: "aa", at: 100)
            try await network.lie(about: "www.example.net", showing: "aa", at: 101)
            let journal = try #require(network.journal)
            if isOtherNetwork { journal.networkChanged() }
            try await network.lie(about: "www.example.org", showing: "aa", at: isOtherNetwork ? 102 : 300)
            #expect(journal.entries.map(\.name.description) == ["www.example.org"])
        }
    }

    @Test @Loop func `forgeries are counted by the server that answered, and an entry names the last one`() async throws
    {
        let network = Network()
        try await network.lie(about: "a.example.com", by: "192.0.2.53:53", at: 100)
        try await network.lie(about: "b.example.com", by: "192.0.2.54:53", at: 200)
        try await network.lie(about: "a.example.com", by: "192.0.2.54:53", at: 300)
        let journal = try #require(network.journal)
        #expect(journal.totals == ["192.0.2.53:53": 1, "192.0.2.54:53": 2])
        #expect(journal.entries.map(\.server) == ["192.0.2.54:53", "192.0.2.54:53"])
    }

    @Test @Loop func `however many servers networks announce, a bounded number is counted apart`() async throws {
        let network = Network()
        for number in 0...HijackJournal.serversLimit {
            try await network.lie(about: "www.example.com", by: "192.0.2.\(number):53", at: Int64(number))
        }
        let journal = try #require(network.journal)
        #expect(journal.totals.count == HijackJournal.serversLimit + 1)
        #expect(journal.totals[HijackJournal.otherServers] == 1)
    }

    @Test @Loop func `beyond its capacity the one seen longest ago is dropped, and the count goes on`() async throws {
        let network = Network()
        for number in 0...HijackJournal.capacity {
            try await network.lie(about: "www.n\(number).example", at: Int64(number))
        }
        let journal = try #require(network.journal)
        #expect(journal.entries.count == HijackJournal.capacity)
        #expect(journal.entries(of: try Name("www.n0.example")).isEmpty)
        #expect(journal.total == HijackJournal.capacity + 1)
    }

    @Test @Loop func `names below one domain displace no other's entries, and the latest of them stay`() async throws {
        let network = Network()
        try await network.lie(about: "www.bank.example", at: 0)
        for number in 1...HijackJournal.capacity {
            try await network.lie(about: "n\(number).attacker.example", at: Int64(number))
        }
        let journal = try #require(network.journal)
        #expect(journal.entries.count == HijackJournal.ownersLimit + 1)
        #expect(journal.entries.first?.name.description == "n\(HijackJournal.capacity).attacker.example")
        #expect(journal.entries(of: try Name("www.bank.example")).count == 1)
    }

    @Test @Loop func `what an earlier process saw is older than what this one saw`() async throws {
        let network = Network()
        try await network.lie(about: "a.example.com", at: 300)
        let journal = try #require(network.journal)
        let earlier = try ["a.example.com", "b.example.com", "c.example.com"].enumerated().map { index, name in
            HijackedAddress(
                name: try Name(name), address: .v4(0xcb00_7142), port: 443,
                evidence: CertificateEvidence(reason: "another"), first: 1, last: 200 - Int64(index), count: 1)
        }
        journal.restore(earlier)
        #expect(journal.entries.map(\.name.description) == ["a.example.com", "b.example.com", "c.example.com"])
        #expect(journal.entries.first?.last == 300 && journal.total == 1)
    }
}
