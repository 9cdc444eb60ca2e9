import DNSWire

/// A client of a simulated world.
struct SimulatedClient: Sendable {
    let address: IPAddress
    /// Whether its query forbids sending its network to providers.
    let hidesNetwork: Bool
    /// The network that is sent to a provider, by the number of bits of an IPv4 address that are sent. Empty: none is
    /// sent (Providers.md).
    let networks: [Int: String]

    /// Two in one network and one in a network near it, one with IPv6, and three whose network is never sent.
    static let all = [
        SimulatedClient("127.0.0.1", [:]),
        SimulatedClient("198.51.100.7", [16: "198.51.0.0/16", 24: "198.51.100.0/24"]),
        SimulatedClient("198.51.100.99", [16: "198.51.0.0/16", 24: "198.51.100.0/24"]),
        SimulatedClient("198.51.101.7", [16: "198.51.0.0/16", 24: "198.51.101.0/24"]),
        SimulatedClient("2001:db8:7:101::1", [16: "2001:db8:7::/48", 24: "2001:db8:7:100::/56"]),
        SimulatedClient("198.51.100.7", [:], hidesNetwork: true),
        SimulatedClient("192.168.1.7", [:]),
    ]

    /// A client in a network of its own.
    static let attacker = SimulatedClient("203.0.113.66", [16: "203.0.0.0/16", 24: "203.0.113.0/24"])

    private init(_ address: String, _ networks: [Int: String], hidesNetwork: Bool = false) {
        self.address = IPAddress(address) ?? .v4(0)
        self.hidesNetwork = hidesNetwork
        self.networks = networks
    }
}
