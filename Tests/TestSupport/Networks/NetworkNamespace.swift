import Glibc
import Synchronization

/// A network namespace of the tests' own; removed, with its interfaces and rules, when the last reference goes.
package final class NetworkNamespace: Sendable {
    package let name: String
    private static let count = Atomic(0)

    /// Makes one whose loopback interface is up.
    package init() throws {
        name = "httpdnsd-\(getpid())-\(Self.count.add(1, ordering: .relaxed).newValue)"
        try ChildProcess.succeed(["ip", "netns", "add", name])
        try run(["ip", "link", "set", "lo", "up"])
        // Nobody else is there who could have the same IPv6 address: to look for them would cost each link a second.
        let settings = "/proc/sys/net/ipv6/conf"
        try run(["sh", "-c", "! cd \(settings) 2>/dev/null || echo 0 | tee all/accept_dad >default/accept_dad"])
    }

    deinit { _ = try? ChildProcess.run(["ip", "netns", "del", name]) }

    /// What stands before a command that is to run inside.
    package var prefix: [String] { ["ip", "netns", "exec", name] }

    /// Runs a command inside, which must succeed; returns its output.
    @discardableResult
    package func run(_ command: [String]) throws -> String { try ChildProcess.succeed(prefix + command) }

    /// Runs `body` on this thread as a process inside would: sockets that it makes, and threads that it starts, are there.
    package func inside<Result>(_ body: () throws -> Result) throws -> Result {
        let (own, other) = (open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), open(path, O_RDONLY | O_CLOEXEC))
        defer { for descriptor in [own, other] where descriptor >= 0 { close(descriptor) } }
        guard own >= 0, other >= 0, Self.enter(other) else { throw TestFailure("cannot enter \(path)") }
        // A thread that stayed inside would take later tests with it.
        defer { precondition(Self.enter(own), "cannot leave \(path)") }
        return try body()
    }

    private var path: String { "/run/netns/" + name }

    /// The Glibc module leaves `setns` out.
    private static func enter(_ descriptor: Int32) -> Bool {
        typealias Setns = @convention(c) (Int32, Int32) -> Int32
        guard let symbol = dlsym(nil, "setns") else { return false }
        let network: Int32 = 0x4000_0000  // CLONE_NEWNET
        return unsafeBitCast(symbol, to: Setns.self)(descriptor, network) == 0
    }

    /// Joins two namespaces by a pair of interfaces with these addresses, such as `10.9.0.1/24`.
    ///
    /// - Parameter interface: the name of both ends.
    package static func link(
        _ first: NetworkNamespace, _ firstAddress: String, _ second: NetworkNamespace, _ secondAddress: String,
        interface: String = "veth0"
    ) throws {
        // Made inside the first: the host's own namespace never sees an interface.
        try first.run(["ip", "link", "add", interface, "type", "veth", "peer", "name", interface, "netns", second.name])
        for (namespace, address) in [(first, firstAddress), (second, secondAddress)] {
            try namespace.addAddress(address, to: interface)
            try namespace.run(["ip", "link", "set", interface, "up"])
        }
    }

    /// Gives an interface one more address.
    ///
    /// - Parameter address: with the length of its network, such as `fd09::1/64`.
    package func addAddress(_ address: String, to interface: String) throws {
        try run(["ip", "address", "add", address, "dev", interface])
    }

    /// Takes the packets away that `match` (in nft's words, such as `tcp sport 4711`) describes, in both directions.
    package func drop(_ match: String) throws {
        try run(["nft", "add", "table", "inet", "tests"])
        for hook in ["input", "output"] {
            try run([
                "nft", "add", "chain", "inet", "tests", hook,
                "{ type filter hook \(hook) priority 0; policy accept; }",
            ])
            try run(["nft", "add rule inet tests \(hook) \(match) drop"])
        }
    }

    /// Whether namespaces can be made here, found out once.
    package static let arePermitted: Bool = {
        guard let namespace = try? NetworkNamespace() else { return false }
        return (try? namespace.drop("tcp dport 9")) != nil
    }()
}
