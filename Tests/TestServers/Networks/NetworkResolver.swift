import TestSupport

/// dnsmasq as a network's own resolver, UDP and TCP.
package final class NetworkResolver: Sendable {
    /// The address on which it listens.
    package let address: TestAddress
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// A resolver that answers these names with their addresses of both families, and all others with NXDOMAIN.
    ///
    /// - Parameters:
    ///   - namespace: the network namespace to run it in.
    ///   - ttl: of its records, in seconds.
    package convenience init(
        at address: TestAddress, hosts: [(name: String, addresses: [String])], ttl: Int = 60,
        namespace: NetworkNamespace
    ) throws {
        let directory = try TemporaryDirectory()
        let lines = hosts.flatMap { host in host.addresses.map { "\($0) \(host.name)\n" } }
        let file = try directory.write(lines.joined(), to: "hosts")
        try self.init(address, ["--addn-hosts=\(file)", "--local=/#/", "--local-ttl=\(ttl)"], directory, namespace)
    }

    /// A hijacked resolver: it answers every name with these addresses.
    package convenience init(at address: TestAddress, forging addresses: [String], namespace: NetworkNamespace) throws {
        let forged = addresses.map { "--address=/#/\($0)" }
        try self.init(address, forged + ["--local-ttl=60"], TemporaryDirectory(), namespace)
    }

    private init(
        _ address: TestAddress, _ options: [String], _ directory: TemporaryDirectory, _ namespace: NetworkNamespace
    ) throws {
        self.address = address
        self.directory = directory
        process = try ChildProcess(namespace.prefix + Dnsmasq.command(at: address, options))
        guard process.waitForOutput(.patience, { $1.contains(Dnsmasq.ready) }) else {
            throw TestFailure("the network's resolver did not start: \(process.errors)")
        }
    }
}
