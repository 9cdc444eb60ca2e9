import TestSupport

/// Another DNS server: one that forwards every question, on a client host's loopback, Unbound on port 5353 or dnsmasq on 5354;
/// or dnsmasq as a network's own resolver, UDP and TCP.
package final class ResolverProgram: Sendable {
    /// The address on which it listens.
    package let address: TestAddress
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Unbound.
    ///
    /// - Parameters:
    ///   - upstream: the server that it asks; nil: the daemon.
    ///   - trustAnchor: a DS or DNSKEY record in zone-file form: makes it validate names below its owner.
    ///   - options: more lines of its `server:` clause.
    package static func unbound(
        on host: ClientHost, upstream: TestAddress? = nil, trustAnchor: String? = nil, options: String = ""
    ) throws -> ResolverProgram {
        let upstream = upstream ?? TestAddress("127.0.0.1", port: 53)
        let address = TestAddress("127.0.0.1", port: 5_353)
        return try ResolverProgram(address, ready: Unbound.ready) { directory in
            let text = """
                server:
                    interface: \(address.host)@\(address.port)
                    do-not-query-localhost: no
                    module-config: "\(trustAnchor == nil ? "" : "validator ")iterator"
                    \(trustAnchor.map { "trust-anchor: \"\($0)\"" } ?? "")
                    \(options)
                \(Unbound.common)
                forward-zone:
                    name: "."
                    forward-addr: \(upstream.host)@\(upstream.port)
                """
            return try host.namespace.prefix + Unbound.command(directory.write(text, to: "unbound.conf"))
        }
    }

    /// dnsmasq, which asks the daemon.
    ///
    /// - Parameters:
    ///   - trustAnchor: a DS record in zone-file form: makes it validate names below its owner.
    ///   - options: more options of its command.
    package static func dnsmasq(
        on host: ClientHost, trustAnchor: String? = nil, options: [String] = []
    ) throws -> ResolverProgram {
        let address = TestAddress("127.0.0.1", port: 5_354)
        let anchor = trustAnchor.map { record in
            let fields = record.split(separator: " ")
            return "--trust-anchor=" + ([fields[0]] + fields.suffix(4)).joined(separator: ",")
        }
        let validation = anchor.map { ["--dnssec", $0] } ?? []
        return try ResolverProgram(address, ready: Dnsmasq.ready) { _ in
            host.namespace.prefix
                + Dnsmasq.command(at: address, ["--server=127.0.0.1#53"] + validation + options)
        }
    }

    /// A network's resolver that answers these names with their addresses of both families, and all others with NXDOMAIN.
    ///
    /// - Parameters:
    ///   - namespace: the network namespace to run it in.
    ///   - ttl: of its records, in seconds.
    package static func network(
        at address: TestAddress, hosts: [(name: String, addresses: [String])], ttl: Int = 60,
        namespace: NetworkNamespace
    ) throws -> ResolverProgram {
        try ResolverProgram(address, ready: Dnsmasq.ready) { directory in
            let lines = hosts.flatMap { host in host.addresses.map { "\($0) \(host.name)\n" } }
            let file = try directory.write(lines.joined(), to: "hosts")
            return namespace.prefix
                + Dnsmasq.command(at: address, ["--addn-hosts=\(file)", "--local=/#/", "--local-ttl=\(ttl)"])
        }
    }

    /// A hijacked resolver: it answers every name with these addresses.
    package static func hijacked(
        at address: TestAddress, forging addresses: [String], namespace: NetworkNamespace
    ) throws -> ResolverProgram {
        let options = addresses.map { "--address=/#/\($0)" } + ["--local-ttl=60"]
        return try ResolverProgram(address, ready: Dnsmasq.ready) { _ in
            namespace.prefix + Dnsmasq.command(at: address, options)
        }
    }

    private init(_ address: TestAddress, ready: String, _ command: (TemporaryDirectory) throws -> [String]) throws {
        self.address = address
        directory = try TemporaryDirectory()
        process = try ChildProcess(server: command(directory), until: ready)
    }
}

/// What all Unbound servers of the tests share.
package enum Unbound {
    /// Clauses that restrict it to its own directory.
    package static let common = """
            username: ""
            chroot: ""
            pidfile: ""
            use-syslog: no
            logfile: ""
            verbosity: 1
            num-threads: 1
            do-daemonize: no
        remote-control:
            control-enable: no
        """

    /// A part of its output once it answers.
    package static let ready = "start of service"

    package static func command(_ file: String) -> [String] { ["unbound", "-d", "-c", file] }

    /// Lines of its `server:` clause: it has itself no zones of these names, which it otherwise has.
    package static func withoutZones(_ names: [String]) -> String {
        names.map { "local-zone: \"\($0)\" nodefault" }.joined(separator: "\n")
    }
}

/// What all dnsmasq servers of the tests share.
enum Dnsmasq {
    /// A part of its output once it answers.
    static let ready = "started, version"

    /// The command that runs it, without the system's configuration.
    static func command(at address: TestAddress, _ options: [String]) -> [String] {
        [
            "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
            "--listen-address=\(address.host)", "--port=\(address.port)", "--bind-interfaces", "--user=root",
            "--pid-file=", "--log-facility=-",
        ] + options
    }
}
