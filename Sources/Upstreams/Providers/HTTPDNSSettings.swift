public import DNSWire
public import HTTPDNS
public import Platform

/// One HTTPDNS provider as configured.
public struct HTTPDNSSettings: Sendable {
    /// The name in logs, `status` and extended errors.
    public var name: String
    public var format: any ProviderFormat
    /// The service without its address.
    public var origin: HTTPOrigin
    /// The host of the configured URL: a name, or an address as text.
    public var host: String
    /// Where to connect, in this order. Empty: `host` if that is an address; else it is looked up (https only).
    public var addresses: [SocketAddress] = []
    /// How the service is asked for its addresses; nil: it is not. Ignored over http.
    public var schedule: ScheduleSettings?
    /// Suffixes of the names that are sent to it; empty: every name.
    public var names: [Name] = []
    public var clientSubnet = ReportedNetwork.off
    /// The most calls in one day, and in one month (UTC); 0: no limit.
    public var dailyLimit = 0
    public var monthlyLimit = 0
    /// As how many an answer with addresses is billed; 0: the vendor bills none.
    public var unitsOfAnswer = 0
    /// The silence after which an address is probed, and the most time for that.
    public var timeout: Duration = .milliseconds(900)
    /// Whether it may be queried as a hedge for another provider that is slow.
    public var mayHedge = true
    /// Goes with each request; nil: none.
    public var mark: LoopMark?

    public init(name: String, format: any ProviderFormat, origin: HTTPOrigin, host: String) {
        self.name = name
        self.format = format
        self.origin = origin
        self.host = host
    }

    /// The name that probes query: chosen by the configuration, never by a client, and always answerable.
    var probeName: Name {
        if let first = names.first { return first.lowercased }
        let hosts = [host] + origin.hosts
        let name = hosts.lazy.filter { IPAddress($0) == nil }.compactMap { try? Name($0) }.first
        return (name ?? Self.neutralName ?? .root).lowercased
    }

    /// A root name server: it has addresses of both families, and is permanent.
    private static let neutralName = try? Name("a.root-servers.net")

    /// The addresses that need no look-up; empty when `host` is a name and `addresses` is empty.
    public var knownAddresses: [SocketAddress] {
        addresses.isEmpty ? IPAddress(host).map { [atURLPort($0)] } ?? [] : addresses
    }

    /// An address with the port of the URL.
    func atURLPort(_ address: IPAddress) -> SocketAddress {
        SocketAddress(address, port: origin.port)
    }
}
