import TestServers
import Testing

/// What users come for, with the program itself: a dozen tests, the first to run after a change. `IntegrationTests` have
/// all the rest.
@Suite(.serialized)
enum MainJob {
    /// What the service says.
    static let zone = FakeZone([
        "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"], ttl: 60)
    ])
    /// What LocalDNS says of every name.
    static let forged = FakeZone(["*": .init(a: ["203.0.113.66"], aaaa: ["2001:db8:ffff::1"])])
}
