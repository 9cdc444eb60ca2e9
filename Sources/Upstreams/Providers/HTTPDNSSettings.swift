package import DNSWire
package import HTTPDNS
package import Platform

/// What a service is told of the clients for whom it is asked.
package enum ToldNetwork: Hashable, Sendable {
    case off
    /// The network of each.
    case clients(ClientScoping)
    /// One network for all.
    case fixed(AddressPrefix)

    /// How much of a client's address is told.
    var scoping: ClientScoping? { if case .clients(let scoping) = self { scoping } else { nil } }

    /// What the service is told when it is asked for clients in `network`, of which perhaps more is known than it may be told.
    func told(of network: AddressPrefix?) -> AddressPrefix? {
        switch self {
        case .off: nil
        case .fixed(let network): network
        case .clients(let scoping): network.flatMap { scoping.network(of: $0.address) }
        }
    }
}

/// One HTTPDNS provider as configured.
package struct HTTPDNSSettings: Sendable {
    /// What logs, `status` and extended errors call it.
    package var name: String
    package var service: any Service
    package var scheme: HTTPOrigin.Scheme
    /// The host of the configured URL: a name, or an address as text.
    package var host: String
    /// Nil: the scheme's own.
    package var port: UInt16?
    /// The path of the configured URL, before every request's target.
    package var basePath: String
    /// Connected to, in this order. Empty: the host if that is an address; else it is looked up (https only).
    package var addresses: [SocketAddress]
    /// How the service is asked for its addresses; nil: it is not. Without effect over http.
    package var schedule: ScheduleSettings?
    /// Names of which the certificate must carry one, tried in this order; empty: the host.
    package var tlsNames: [String]
    /// The authorities, a PEM file; empty: the system's.
    package var caFile: String
    /// The public keys (SPKI) of which the certificate must have one, `sha256//` and base64; empty: any.
    package var pins: [String]
    /// The HTTP proxy by way of which it is reached; nil: none.
    package var proxy: SocketAddress?
    /// Suffixes that it is asked for; empty: every name.
    package var names: [Name]
    package var clientSubnet: ToldNetwork
    /// Calls on one day (UTC); 0: no limit.
    package var dailyLimit: Int
    /// How long one attempt may take.
    package var timeout: Duration
    /// Whether it may be asked beside another provider that is slow.
    package var mayHedge: Bool

    package init(
        name: String, service: any Service, scheme: HTTPOrigin.Scheme, host: String, port: UInt16? = nil,
        basePath: String = "", addresses: [SocketAddress] = [], schedule: ScheduleSettings? = nil,
        tlsNames: [String] = [], caFile: String = "", pins: [String] = [], proxy: SocketAddress? = nil,
        names: [Name] = [], clientSubnet: ToldNetwork = .off, dailyLimit: Int = 0, timeout: Duration = .seconds(1),
        mayHedge: Bool = true
    ) {
        self.name = name
        self.service = service
        self.scheme = scheme
        self.host = host
        self.port = port
        self.basePath = basePath
        self.addresses = addresses
        self.schedule = schedule
        self.tlsNames = tlsNames
        self.caFile = caFile
        self.pins = pins
        self.proxy = proxy
        self.names = names
        self.clientSubnet = clientSubnet
        self.dailyLimit = dailyLimit
        self.timeout = timeout
        self.mayHedge = mayHedge
    }

    /// The name that probes ask for: chosen by the configuration, never by a client, and always answerable.
    var probeName: Name {
        if let first = names.first { return first.lowercased }
        let hosts = [host] + tlsNames
        let name = hosts.lazy.filter { IPAddress($0) == nil }.compactMap { try? Name($0) }.first
        return (name ?? Self.neutralName ?? .root).lowercased
    }

    /// A root name server: it has addresses of both families and will not go away.
    private static let neutralName = try? Name("a.root-servers.net")

    /// The addresses that need no look-up; empty when the host is a name without any.
    package var knownAddresses: [SocketAddress] {
        addresses.isEmpty ? IPAddress(host).map { [atURLPort($0)] } ?? [] : addresses
    }

    /// An address with the port of the URL.
    func atURLPort(_ address: IPAddress) -> SocketAddress {
        SocketAddress(address, port: port ?? scheme.defaultPort)
    }

    /// The service at one of its addresses.
    func origin(at address: SocketAddress) -> HTTPOrigin {
        HTTPOrigin(
            scheme: scheme, address: address.ip, port: address.port, urlPort: port,
            hosts: scheme == .https && !tlsNames.isEmpty ? tlsNames : [host], basePath: basePath, caFile: caFile,
            pins: pins, proxy: proxy)
    }
}
