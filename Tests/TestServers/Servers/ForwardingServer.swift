import TestSupport

/// Another DNS server that forwards every question, on port 5353 of a client host's loopback.
package final class ForwardingServer: Sendable {
    /// The address on which it listens.
    package let address = TestAddress("127.0.0.1", port: 5_353)
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
        return try ForwardingServer(ready: "start of service") { directory in
            let text = """
                server:
                    interface: 127.0.0.1@5353
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
    /// - Parameter options: more options of its command.
    package static func dnsmasq(on host: ClientHost, options: [String] = []) throws -> ForwardingServer {
        try ForwardingServer(ready: Dnsmasq.ready) { _ in
            host.namespace.prefix
                + Dnsmasq.command(at: TestAddress("127.0.0.1", port: 5_353), ["--server=127.0.0.1#53"] + options)
        }
    }

    private init(ready: String, _ command: (TemporaryDirectory) throws -> [String]) throws {
        directory = try TemporaryDirectory()
        process = try ChildProcess(command(directory))
        guard process.waitForOutput(.patience, { $1.contains(ready) }) else {
            throw TestFailure("the forwarding server did not start: \(process.errors)")
        }
    }
}

/// What all Unbound servers of the tests share.
enum Unbound {
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
