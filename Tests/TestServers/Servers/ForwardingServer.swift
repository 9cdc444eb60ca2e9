import TestSupport

/// Another DNS server that forwards every question, on a client host's loopback: Unbound on port 5353, dnsmasq on 5354.
package final class ForwardingServer: Sendable {
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
    ) throws -> ForwardingServer {
        let upstream = upstream ?? TestAddress("127.0.0.1", port: 53)
        let address = TestAddress("127.0.0.1", port: 5_353)
        return try ForwardingServer(address, ready: "start of service") { directory in
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
    ) throws -> ForwardingServer {
        let address = TestAddress("127.0.0.1", port: 5_354)
        let anchor = trustAnchor.map { record in
            let fields = record.split(separator: " ")
            return "--trust-anchor=" + ([fields[0]] + fields.suffix(4)).joined(separator: ",")
        }
        let validation = anchor.map { ["--dnssec", $0] } ?? []
        return try ForwardingServer(address, ready: Dnsmasq.ready) { _ in
            host.namespace.prefix
                + Dnsmasq.command(at: address, ["--server=127.0.0.1#53"] + validation + options)
        }
    }

    private init(
        _ address: TestAddress, ready: String, _ command: (TemporaryDirectory) throws -> [String]
    ) throws {
        self.address = address
        directory = try TemporaryDirectory()
        process = try ChildProcess(command(directory))
        guard process.waitForOutput(.patience, { $1.contains(ready) }) else {
            throw TestFailure("the forwarding server did not start: \(process.errors)")
        }
    }
}

/// What all Unbound servers of the tests share.
package enum Unbound {
    /// Clauses that restrict it to its own directory.
    static let common = """
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

    static func command(_ file: String) -> [String] { ["unbound", "-d", "-c", file] }

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
