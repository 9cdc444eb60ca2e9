package import DNSWire

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
/// Our own entries are left out of a list that has others. When no list has any, for instance while the network is
/// down, the last ones that were found are used.
package struct LocalDNSServers: Sendable {
    /// A local socket that answers DNS for us: address and port. A wildcard stands for all addresses of its family.
    package struct Listener: Hashable, Sendable {
        package let address: IPAddress
        package let port: UInt16

        package init(_ address: IPAddress, port: UInt16) {
            self.address = address
            self.port = port
        }
    }

    package static let systemdResolved = "/run/systemd/resolve/resolv.conf"
    package static let networkManager = "/run/NetworkManager/no-stub-resolv.conf"
    package static let resolvConf = "/etc/resolv.conf"
    /// What systemd-resolved listens on, by itself or as a plain proxy (systemd-resolved.service(8)).
    private static let stubs: [IPAddress] = [.v4(0x7f00_0035), .v4(0x7f00_0036)]

    /// The addresses that we answer on; `serve --listen` included. Fewer after a reload may make a server usable.
    package var listeners: [Listener]
    private let systemdResolved: String
    private let networkManager: String
    private let resolvConf: String
    private let readFile: @Sendable (String) -> [UInt8]?
    private let localAddresses: @Sendable () -> Set<IPAddress>
    private var lastFound: [LocalDNSServer] = []

    /// - Parameters:
    ///   - readFile: at most `ResolvConf.maximumSize` bytes of a file, or nil when it cannot be read.
    ///   - localAddresses: the addresses of this host's interfaces.
    package init(
        listeners: [Listener], resolvConf: String = LocalDNSServers.resolvConf,
        systemdResolved: String = LocalDNSServers.systemdResolved,
        networkManager: String = LocalDNSServers.networkManager,
        readFile: @escaping @Sendable (String) -> [UInt8]? = readListFile,
        localAddresses: @escaping @Sendable () -> Set<IPAddress> = interfaceAddresses
    ) {
        self.listeners = listeners
        self.resolvConf = resolvConf
        self.systemdResolved = systemdResolved
        self.networkManager = networkManager
        self.readFile = readFile
        self.localAddresses = localAddresses
    }

    /// The lists, in the order in which they are read.
    package static func files(resolvConf: String) -> [String] {
        [systemdResolved, networkManager, resolvConf, replaced(resolvConf)]
    }

    /// Where `httpdnsd resolver on` leaves the file that it replaces.
    package static func replaced(_ resolvConf: String) -> String { resolvConf + ".before-httpdnsd" }

    /// Reads the lists. They are small files, mostly in memory, read at start, at a reload and when the network
    /// changes.
    ///
    /// - Returns: at least one server.
    package mutating func find() throws(LocalDNSServersError) -> LocalDNSServerList {
        let own = listeners.contains { $0.address.isWildcard } ? localAddresses() : []
        var looked: [LocalDNSServersError.Look] = []
        var hasSystemdList = false
        let replaced = Self.replaced(resolvConf)
        for path in [systemdResolved, networkManager, resolvConf, replaced]
        where !looked.contains(where: { $0.path == path }) {
            guard let bytes = readFile(path) else {
                if path != replaced { looked.append(.init(path: path, finding: "not there")) }
                continue
            }
            let list = ResolvConf(bytes)
            let others = list.servers.filter { server in
                !isOurs(server, own: own) && !(hasSystemdList && Self.stubs.contains(server.address))
            }
            if path == systemdResolved { hasSystemdList = !list.servers.isEmpty }
            if !others.isEmpty {
                lastFound = others
                return LocalDNSServerList(servers: others, path: path, skipped: list.skipped)
            }
            looked.append(
                .init(path: path, finding: list.servers.isEmpty ? "no usable server" : "only this server itself"))
        }
        guard !lastFound.isEmpty else { throw LocalDNSServersError(looked: looked) }
        return LocalDNSServerList(servers: lastFound, path: nil, skipped: [])
    }

    /// Whether a query to `server` would arrive at one of our listeners.
    private func isOurs(_ server: LocalDNSServer, own: Set<IPAddress>) -> Bool {
        let address = server.address.effective
        return listeners.contains { listener in
            guard listener.port == server.port else { return false }
            // Our IPv6 sockets accept no IPv4 (IPV6_V6ONLY).
            guard listener.address.isWildcard else { return listener.address.effective == address }
            return listener.address.recordType == address.recordType && (address.isLoopback || own.contains(address))
        }
    }
}

/// The servers found, and their source.
package struct LocalDNSServerList: Hashable, Sendable {
    /// At least one.
    package let servers: [LocalDNSServer]
    /// The file that named them; nil for the last ones found, when no file names any now.
    package let path: String?
    /// Lines of that file that could not be used.
    package let skipped: [ResolvConf.Skipped]
}

/// No resolver except ourselves was found.
package struct LocalDNSServersError: Error, Hashable, Sendable {
    /// The result of reading a file.
    package struct Look: Hashable, Sendable {
        package let path: String
        package let finding: String
    }

    package let looked: [Look]
}

extension LocalDNSServersError: CustomStringConvertible {
    /// One line, with the setting to add.
    package var description: String {
        "no resolver of the network found (\(looked.map { "\($0.path): \($0.finding)" }.joined(separator: "; "))); "
            + #"write its address in the configuration: localdns.servers = ["192.0.2.53"]"#
    }
}
