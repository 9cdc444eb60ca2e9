import Synchronization
import TestSupport

/// A small internet in network namespaces: a machine for daemon and clients, a router that can hijack port 53 and cut
/// off an HTTPDNS service, a web site, an honest resolver of the network, and three hijacked resolvers.
///
///     machine --- router --+-- site       all addresses of `LabName`, 443 with two certificates by name (SNI)
///                          +-- services   resolvers, HTTPDNS behind TLS, and the hijackers' addresses
///
/// The machine trusts the lab's authority in the file where Debian stores its authorities.
package final class Lab: Sendable {
    /// A hijacked resolver that answers every name with addresses of its own.
    package enum Hijacker: Int, CaseIterable, Sendable {
        /// Port 443 there has certificates that are not valid for the name: over IPv4 one for another name, over IPv6
        /// one for the name by an untrusted authority.
        case wrongCertificate
        /// Port 443 there refuses connections.
        case refusing
        /// Port 443 there is silent: over IPv4 it accepts connections and sends nothing, over IPv6 packets are lost.
        case silent

        /// The address on which it listens.
        package var resolver: TestAddress { TestAddress("203.0.113.2\(rawValue)", port: 53) }
        /// The addresses that it answers, IPv4 and IPv6.
        package var forged: [String] { ["203.0.113.12\(rawValue)", "2001:db8:bad::\(rawValue + 1)"] }
    }

    /// How HTTPDNS is cut off.
    package enum Cut: String, CaseIterable, Sendable {
        /// Packets to and from it are lost.
        case drop
        /// The router rejects connections to it.
        case reject
    }

    /// How the machine's link fails.
    package enum LinkFailure: CaseIterable, Sendable {
        /// The other end goes down: the machine retains its addresses and routes.
        case cable
        /// Its own end goes down, and its routes are removed.
        case interface
    }

    /// The address of the honest resolver; behind a hijacking router a hijacked one answers instead.
    package static let resolver = TestAddress("203.0.113.10", port: 53)

    private static let vendorAddress = "203.0.113.53"
    /// So short that answers become stale in an outage of seconds.
    private static let ttl: UInt32 = 1

    /// The host of the daemon and the clients.
    package let machine: ClientHost
    /// The authority that the machine trusts, and that signed the certificates of site and HTTPDNS.
    package let certificates: TestCertificates
    /// The HTTPDNS service, in Aliyun's form: behind nginx, which speaks TLS.
    package let vendor: FakeHTTPDNS

    private let router: NetworkNamespace
    private let site: NetworkNamespace
    private let services: NetworkNamespace
    private let sites: [TLSSite]
    private let resolvers: [ResolverProgram]
    private let front: Nginx
    private let silence: TestSocket
    private let directory: TemporaryDirectory
    private let namesTaken = Atomic(0)

    /// Makes the network and starts its servers.
    package init() throws {
        machine = try ClientHost()
        router = machine.neighbour
        (site, services) = (try NetworkNamespace(), try NetworkNamespace())
        certificates = try TestCertificates()
        directory = try TemporaryDirectory()
        try Self.connect(machine, router, site, services)
        let services = services
        sites = try [
            TLSSite(
                certificates, hosts: [LabName.shop.text, "*.lab.example"], on: ["0.0.0.0", "::"], namespace: site),
            TLSSite(
                certificates, hosts: ["hijacker.example.net"], on: [Hijacker.wrongCertificate.forged[0]],
                namespace: services),
            TLSSite(
                TestCertificates(), hosts: ["*.lab.example"], on: [Hijacker.wrongCertificate.forged[1]],
                namespace: services),
        ]
        silence = try services.inside { try TestSocket.listener(TestAddress(Hijacker.silent.forged[0], port: 443)) }
        try services.drop("ip6 daddr \(Hijacker.silent.forged[1])")
        let names = LabName.numbered + [.shop]
        resolvers =
            try [
                ResolverProgram.network(
                    at: Self.resolver, hosts: names.map { ($0.text, $0.addresses()) }, namespace: services)
            ]
            + Hijacker.allCases.map {
                try ResolverProgram.hijacked(at: $0.resolver, forging: $0.forged, namespace: services)
            }
        vendor = try services.inside { try FakeHTTPDNS(Self.zone(moved: false)) }
        front = try Nginx(
            certificates.leaf(addresses: [Self.vendorAddress]), at: TestAddress(Self.vendorAddress, port: 443),
            backend: vendor, answersItself: false, namespace: services)
    }

    /// Makes links, addresses, routes, and the router's two chains of rules, still empty.
    private static func connect(
        _ machine: ClientHost, _ router: NetworkNamespace, _ site: NetworkNamespace, _ services: NetworkNamespace
    ) throws {
        for (namespace, name, number) in [(site, "site", 1), (services, "services", 2)] {
            try NetworkNamespace.link(
                namespace, "10.9.\(number).1/24", router, "10.9.\(number).2/24", interface: name)
            try namespace.addAddress("fd09:\(number)::1/64", to: name)
            try router.addAddress("fd09:\(number)::2/64", to: name)
            for gateway in ["10.9.\(number).2", "fd09:\(number)::2"] {
                try namespace.run(["ip", "route", "add", "default", "via", gateway])
            }
        }
        for network in LabName.networks {
            // All addresses of the network are the site's own.
            try site.run(["ip", "route", "add", "local", network, "dev", "lo"])
            try router.run(["ip", "route", "add", network, "via", network.contains(":") ? "fd09:1::1" : "10.9.1.1"])
        }
        let hosts = [resolver.host, vendorAddress] + Hijacker.allCases.flatMap { [$0.resolver.host] + $0.forged }
        for host in hosts {
            try services.addAddress(host + (host.contains(":") ? "/128" : "/32"), to: "lo")
            try router.run(["ip", "route", "add", host, "via", host.contains(":") ? "fd09:2::1" : "10.9.2.1"])
        }
        let script = """
            echo 1 >/proc/sys/net/ipv4/ip_forward
            echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
            nft 'add table inet lab
            add chain inet lab hijack { type nat hook prerouting priority dstnat; }
            add chain inet lab cut { type filter hook forward priority filter; }'
            """
        try router.run(["sh", "-ec", script])
        // Addresses remain on a link that goes down, as on machines with a network manager.
        for namespace in [machine.namespace, router] {
            try namespace.run(["sh", "-ec", "echo 1 >/proc/sys/net/ipv6/conf/all/keep_addr_on_down"])
        }
        try routeMachine(machine)
    }

    private static func routeMachine(_ machine: ClientHost) throws {
        for gateway in ClientHost.neighbourAddresses {
            try machine.namespace.run(["ip", "route", "add", "default", "via", gateway])
        }
    }

    private static func zone(moved: Bool) -> FakeZone {
        let entries = (LabName.numbered + [.shop]).map { name in
            (
                name.text,
                FakeZone.Entry(
                    a: [name.address(TestRecordType.a, moved: moved)],
                    aaaa: [name.address(TestRecordType.aaaa, moved: moved)], ttl: ttl)
            )
        }
        return FakeZone(Dictionary(uniqueKeysWithValues: entries))
    }

    /// Starts the daemon on the machine, on port 53 of both families. All names of the lab are listed as protected.
    package func startDaemon() throws -> Daemon {
        let configuration =
            DaemonConfiguration.aliyun("https://\(Self.vendorAddress)")
            + DaemonConfiguration.route(protect: ["lab.example"])
            + DaemonConfiguration.rest(
                localDNS: Self.resolver, check: "auto", log: "info", control: directory.path + "/control.sock")
        return try Daemon(
            configuration, on: ["127.0.0.1", "::1"], port: 53,
            wrapper: Daemon.trusting(certificates.authority),
            namespace: machine.namespace)
    }

    /// Names that were not returned before, and so were not asked for.
    package func newNames(_ count: Int) throws -> [LabName] {
        let end = namesTaken.add(count, ordering: .relaxed).newValue
        guard end <= LabName.count else { throw TestFailure("the lab has no more than \(LabName.count) names") }
        return Array(LabName.numbered[(end - count)..<end])
    }

    /// Makes the router redirect every packet for port 53 to a hijacked resolver, whatever its destination; nil ends
    /// it.
    package func hijack(_ hijacker: Hijacker?) throws {
        var commands = ["flush chain inet lab hijack"]
        if let hijacker {
            commands += ["udp", "tcp"].map {
                "add rule inet lab hijack meta nfproto ipv4 \($0) dport 53 dnat ip to \(hijacker.resolver.host)"
            }
        }
        try router.run(["nft", commands.joined(separator: "\n")])
    }

    /// Cuts HTTPDNS off; nil ends it.
    package func cutHTTPDNS(_ cut: Cut?) throws {
        var commands = ["flush chain inet lab cut"]
        switch cut {
        case .drop: commands += ["saddr", "daddr"].map { "add rule inet lab cut ip \($0) \(Self.vendorAddress) drop" }
        case .reject:
            commands += ["add rule inet lab cut ip daddr \(Self.vendorAddress) tcp dport 443 reject with tcp reset"]
        case nil: break
        }
        try router.run(["nft", commands.joined(separator: "\n")])
    }

    /// Makes HTTPDNS return the addresses to which the site has moved, or the first ones again; both go on working.
    package func moveSite(_ moved: Bool) { vendor.zone = Self.zone(moved: moved) }

    /// Cuts the machine off from the network.
    package func cutLink(_ failure: LinkFailure) throws {
        try end(failure).run(["ip", "link", "set", "veth0", "down"])
    }

    /// Ends `cutLink`.
    package func restoreLink(_ failure: LinkFailure) throws {
        try end(failure).run(["ip", "link", "set", "veth0", "up"])
        if failure == .interface { try Self.routeMachine(machine) }
    }

    private func end(_ failure: LinkFailure) -> NetworkNamespace {
        failure == .cable ? router : machine.namespace
    }
}
