/// dnsmasq as a network's own resolver, UDP and TCP.
package final class NetworkResolver: Sendable {
    /// Where it listens.
    package let address: TestAddress
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// One that knows these names, with their addresses of both families, and says of all others that there are none.
    ///
    /// - Parameters:
    ///   - namespace: where to run it.
    ///   - ttl: of its records, seconds.
    package convenience init(
        at address: TestAddress, hosts: [(name: String, addresses: [String])], ttl: Int = 60,
        namespace: NetworkNamespace
    ) throws {
        let directory = try TemporaryDirectory()
        let lines = hosts.flatMap { host in host.addresses.map { "\($0) \(host.name)\n" } }
        let file = try directory.write(lines.joined(), to: "hosts")
        try self.init(address, ["--addn-hosts=\(file)", "--local=/#/", "--local-ttl=\(ttl)"], directory, namespace)
    }

    /// A liar: one that says these addresses of every name.
    package convenience init(at address: TestAddress, lying addresses: [String], namespace: NetworkNamespace) throws {
        let lies = addresses.map { "--address=/#/\($0)" }
        try self.init(address, lies + ["--local-ttl=60"], TemporaryDirectory(), namespace)
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
