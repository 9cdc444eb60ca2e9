public import DNSWire
import Glibc
import HTTPDNS
public import Platform

/// A resolver of the network: its address for UDP and TCP.
public struct LocalDNSServer: Hashable, Sendable {
    /// The port of DNS (RFC 1035 section 4.2).
    public static let standardPort: UInt16 = 53

    public let address: IPAddress
    public let port: UInt16
    /// The name of the network interface to which queries are bound; a link-local address cannot be reached without it.
    public let interface: String?
    /// Whether it is queried over TCP alone, as `options use-vc` demands.
    public let usesTCP: Bool

    public init(
        _ address: IPAddress, port: UInt16 = LocalDNSServer.standardPort, interface: String? = nil,
        usesTCP: Bool = false
    ) {
        self.address = address
        self.port = port
        self.interface = interface
        self.usesTCP = usesTCP
    }
}

extension LocalDNSServer: CustomStringConvertible {
    /// `192.0.2.53:53`, `[fe80::1%eth0]:53`.
    public var description: String { AddressAndPort(address, port: port, zone: interface).description }
}

extension IPAddress {
    /// The address that is actually reached: loopback for `0.0.0.0` and `::`, IPv4 for an IPv4-mapped address.
    var effective: IPAddress {
        switch self {
        case .v4(0): .v4(0x7f00_0001)
        case .v6(0): .v6(1)
        default: mapped ?? self
        }
    }
}

/// Finds the network's resolvers for `localdns.servers = "auto"`, except ourselves.
///
/// Lists are read in this order, and the first that names a server which is not us decides:
/// 1. /run/systemd/resolve/resolv.conf: what systemd-resolved received from the network. Its stub 127.0.0.53 in
///    /etc/resolv.conf may forward to us, this list cannot.
/// 2. /run/NetworkManager/no-stub-resolv.conf: the same from NetworkManager, when a local resolver is in resolv.conf.
/// 3. `resolv_conf`. Here systemd-resolved's stubs 127.0.0.53 and 127.0.0.54 count as ourselves when the first list
///    named servers (then all of them were us, so the stub would forward our queries to us); otherwise a stub is
///    accepted.
/// 4. What `resolv_conf` was before `httpdnsd resolver on`, perhaps a link to a list that another program writes.
///
/// Our own entries are left out of a list that has others.
public enum LocalDNSServers {
    public static let resolvConf = "/etc/resolv.conf"
    /// What systemd-resolved listens on, by itself or as a plain proxy (systemd-resolved.service(8)).
    private static let stubs: [IPAddress] = [.v4(0x7f00_0035), .v4(0x7f00_0036)]

    /// The lists, in the order in which they are read.
    public static func files(resolvConf: String) -> [String] {
        let ofPrograms = ["/run/systemd/resolve/resolv.conf", "/run/NetworkManager/no-stub-resolv.conf"]
        return ofPrograms + [resolvConf, replaced(resolvConf)]
    }

    /// Where `httpdnsd resolver on` leaves the file that it replaces.
    public static func replaced(_ resolvConf: String) -> String { resolvConf + ".before-httpdnsd" }

    /// Reads the lists, small files, at start, at a reload and when the network changes. Returns at least one server.
    ///
    /// - Parameters:
    ///   - listeners: the addresses that we answer on, a wildcard for all of its family. Fewer after a reload may make a
    ///     server usable.
    ///   - files: the lists, of which the first is systemd-resolved's and the last one may be absent.
    ///   - readFile: reads a file as `readListFile` does.
    ///   - localAddresses: the addresses of this host's interfaces.
    public static func find(
        listeners: [SocketAddress], files: [String], readFile: (String) throws(SystemError) -> [UInt8] = readListFile,
        localAddresses: () -> Set<IPAddress> = interfaceAddresses
    ) throws(LocalDNSServersError) -> [LocalDNSServer] {
        let own = listeners.contains(where: \.isWildcard) ? localAddresses() : []
        var findings: [String] = []
        var hasSystemdList = false
        for (index, path) in files.enumerated() where !files[..<index].contains(path) {
            let servers: [LocalDNSServer]
            do throws(SystemError) {
                servers = ResolvConf(try readFile(path)).servers
            } catch {
                if error.code != ENOENT { findings.append("\(path): \(error.reason)") }
                if error.code == ENOENT, path != files.last { findings.append("\(path): not there") }
                continue
            }
            let others = servers.filter { server in
                !isOurs(server, listeners, own: own) && !(hasSystemdList && stubs.contains(server.address))
            }
            guard others.isEmpty else { return others }
            if index == 0 { hasSystemdList = !servers.isEmpty }
            findings.append("\(path): \(servers.isEmpty ? "no usable server" : LocalDNSServersError.ownAlone)")
        }
        throw LocalDNSServersError(findings: findings)
    }

    /// Whether a query to `server` would arrive at one of our listeners.
    private static func isOurs(_ server: LocalDNSServer, _ listeners: [SocketAddress], own: Set<IPAddress>) -> Bool {
        let address = server.address.effective
        return listeners.contains { listener in
            guard listener.port == server.port else { return false }
            // Our IPv6 sockets accept no IPv4 (IPV6_V6ONLY).
            guard listener.isWildcard else { return listener.ip.effective == address }
            return listener.ip.recordType == address.recordType && (address.isLoopback || own.contains(address))
        }
    }
}

/// No resolver except ourselves was found.
public struct LocalDNSServersError: Error, CustomStringConvertible {
    /// What was found in each file.
    let findings: [String]

    static let ownAlone = "only this server itself"

    /// Whether a file names this server alone: that does not change with the network.
    public var isOfOurOwn: Bool { findings.contains { $0.hasSuffix(Self.ownAlone) } }

    /// One line, with the setting to add.
    public var description: String {
        "no resolver of the network found (\(findings.joined(separator: "; "))); "
            + #"write its address in the configuration: localdns.servers = ["192.0.2.53"]"#
    }
}

/// The first `ResolvConf.maximumSize` bytes of a file, and one more of a longer one.
public func readListFile(_ path: String) throws(SystemError) -> [UInt8] {
    try readText(path, limit: ResolvConf.maximumSize + 1)
}

/// The contents of a resolv.conf (resolv.conf(5)) that a forwarder needs: its `nameserver` lines, its search list, and
/// the option `use-vc`.
public struct ResolvConf: Hashable, Sendable {
    /// Usable servers, in order, all on port 53.
    public private(set) var servers: [LocalDNSServer] = []
    /// Domains that the C library appends to short names: those of the last `search` or `domain` line. Text that is no
    /// domain name, and the root, are left out.
    public private(set) var searchDomains: [Name] = []
    /// Whether there is more than is read.
    public let isCut: Bool

    /// The most bytes that are read; the rest is ignored. A real file has some hundreds.
    public static let maximumSize = 64 << 10
    /// The most lines that are read.
    public static let maximumLines = 1_024

    /// Parses the bytes of a file. Unknown lines and comments (`#`, `;`) are ignored.
    ///
    /// An IPv6 zone (`fe80::1%eth0`, `fe80::1%3`) is stored for link-local addresses, which are skipped without one, and
    /// ignored for others.
    public init(_ bytes: some Collection<UInt8>) {
        var usesTCP = false
        var lines = bytes.prefix(Self.maximumSize).split(
            separator: UInt8(ascii: "\n"), maxSplits: Self.maximumLines, omittingEmptySubsequences: false)
        let isLong = bytes.count > Self.maximumSize
        isCut = isLong || lines.count > Self.maximumLines && lines.last?.isEmpty == false
        // It goes on behind what is read: the start of an address may be another one.
        if isLong { lines.removeLast() }
        for line in lines.prefix(Self.maximumLines) {
            let content = line.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: ";") }
            let words = content.split { $0 == UInt8(ascii: " ") || (0x09...0x0d).contains($0) }
            guard let keyword = words.first.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            if keyword == "search" || keyword == "domain" {
                searchDomains = words.dropFirst().compactMap { try? Name(String(decoding: $0, as: UTF8.self)) }
                    .filter { !$0.isRoot }
            }
            if keyword == "options", words.dropFirst().contains(where: { $0.elementsEqual("use-vc".utf8) }) {
                usesTCP = true
            }
            guard keyword == "nameserver", words.count > 1 else { continue }
            if let server = Self.server(String(decoding: words[1], as: UTF8.self)) {
                servers.append(server)
            }
        }
        // The option holds for all servers, wherever its line is.
        if usesTCP {
            servers = servers.map { LocalDNSServer($0.address, interface: $0.interface, usesTCP: true) }
        }
    }

    /// The server of a line; nil for one that cannot be used.
    private static func server(_ text: String) -> LocalDNSServer? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        guard address.recordType == .aaaa, address.isLinkLocal else { return LocalDNSServer(address) }
        guard parts.count == 2 else { return nil }
        var interface = String(parts[1])
        if let index = OutsideNumber(digits: interface)?.clamped(to: 0...UInt32.max) {
            guard let name = SocketAddress.interfaceName(index) else { return nil }
            interface = name
        }
        // IFNAMSIZ less the final zero.
        guard (1...15).contains(interface.utf8.count), !interface.utf8.contains(0x2f) else { return nil }
        return LocalDNSServer(address, interface: interface)
    }
}
