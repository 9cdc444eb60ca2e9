import DNSWire

/// Who asks in a simulated world.
struct SimulatedClient: Sendable {
    let address: IPAddress
    /// Whether its query forbids to tell its network.
    let hidesNetwork: Bool
    /// The network that a provider is told, by how many bits of an IPv4 address it is told; without any: none (Providers.md).
    let networks: [Int: String]

    /// Two of one network and one near it, one of IPv6, and three whose network nobody is told.
    static let all = [
        SimulatedClient("127.0.0.1", [:]),
        SimulatedClient("198.51.100.7", [16: "198.51.0.0/16", 24: "198.51.100.0/24"]),
        SimulatedClient("198.51.100.99", [16: "198.51.0.0/16", 24: "198.51.100.0/24"]),
        SimulatedClient("198.51.101.7", [16: "198.51.0.0/16", 24: "198.51.101.0/24"]),
        SimulatedClient("2001:db8:7:101::1", [16: "2001:db8:7::/48", 24: "2001:db8:7:100::/56"]),
        SimulatedClient("198.51.100.7", [:], hidesNetwork: true),
        SimulatedClient("192.168.1.7", [:]),
    ]

    /// In a network of its own.
    static let attacker = SimulatedClient("203.0.113.66", [16: "203.0.0.0/16", 24: "203.0.113.0/24"])

    private init(_ address: String, _ networks: [Int: String], hidesNetwork: Bool = false) {
        self.address = IPAddress(address) ?? .v4(0)
        self.hidesNetwork = hidesNetwork
        self.networks = networks
    }
}
