import Synchronization
import TestSupport

/// A machine for client programs: a network of its own with both address families, and a separate `resolv.conf` for
/// each program.
///
/// The daemon serves inside on port 53, as on a real machine: the C libraries know no other port.
package final class ClientHost: Sendable {
    package let namespace: NetworkNamespace
    /// The other end of its one link, `veth0`, with the addresses `neighbourAddresses`.
    package let neighbour: NetworkNamespace
    private let directory: TemporaryDirectory
    private let programs = Atomic(0)

    /// The `resolv.conf` of a machine that asks a daemon on its own loopback interface.
    package static let resolvConf = "nameserver 127.0.0.1\n"

    /// The addresses of its neighbour.
    package static let neighbourAddresses = ["10.9.0.2", "fd09::2"]

    /// Makes it.
    ///
    /// - Parameter addresses: more addresses of its own, on which servers for names can listen.
    package init(addresses: [String] = []) throws {
        namespace = try NetworkNamespace()
        neighbour = try NetworkNamespace()
        directory = try TemporaryDirectory()
        // An address other than loopback of each family: `AI_ADDRCONFIG` asks for no family that the machine lacks.
        try NetworkNamespace.link(
            namespace, "10.9.0.1/24", neighbour, Self.neighbourAddresses[0] + "/24")
        try namespace.addAddress("fd09::1/64", to: "veth0")
        try neighbour.addAddress(Self.neighbourAddresses[1] + "/64", to: "veth0")
        for address in addresses {
            try namespace.addAddress(address + (address.contains(":") ? "/128" : "/32"), to: "lo")
        }
    }

    /// Starts a program with a `resolv.conf` that only it sees; names are looked up in DNS only.
    package func start(
        _ command: [String], resolvConf: String = ClientHost.resolvConf, environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let number = programs.add(1, ordering: .relaxed).newValue
        let list = try directory.write(resolvConf, to: "resolv.conf-\(number)")
        let order = try directory.write("hosts: dns\n", to: "nsswitch.conf-\(number)")
        let script = """
            mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/nsswitch.conf && shift 2 && exec "$@"
            """
        return try ChildProcess(
            namespace.prefix + ["unshare", "--mount", "sh", "-c", script, "sh", list, order] + command,
            environment: environment)
    }

    /// Runs a program to its end with a `resolv.conf` that only it sees; names are looked up in DNS only.
    package func run(
        _ command: [String], resolvConf: String = ClientHost.resolvConf, environment: [String: String] = [:],
        within limit: Duration = .patience
    ) throws -> ChildProcess.Outcome {
        try start(command, resolvConf: resolvConf, environment: environment).finish(within: limit)
    }
}
