import Glibc
import Synchronization
import TestSupport

/// A network namespace of the tests; removed, with its interfaces and rules, when the last reference is released.
package final class NetworkNamespace: Sendable {
    package let name: String
    private static let count = Atomic(0)
    /// Other runs of the tests have namespaces too, also killed ones, which left theirs, and a process ID comes again.
    private static let series = String(UInt64.random(in: 0...(.max)), radix: 36)

    /// Makes one whose loopback interface is up.
    package init() throws {
        name = "httpdnsd-\(Self.series)-\(Self.count.add(1, ordering: .relaxed).newValue)"
        try ChildProcess.succeed(["ip", "netns", "add", name])
        try run(["ip", "link", "set", "lo", "up"])
        // No other host can have the same IPv6 address: duplicate address detection would cost each link a second.
        let settings = "/proc/sys/net/ipv6/conf"
        try run(["sh", "-c", "! cd \(settings) 2>/dev/null || echo 0 | tee all/accept_dad >default/accept_dad"])
    }

    deinit { _ = try? ChildProcess.run(["ip", "netns", "del", name]) }

    /// The prefix of a command that is to run inside.
    package var prefix: [String] { ["ip", "netns", "exec", name] }

    /// Runs a command inside, which must succeed.
    ///
    /// - Returns: its output.
    @discardableResult
    package func run(_ command: [String]) throws -> String { try ChildProcess.succeed(prefix + command) }

    /// Runs `body` on this thread as in a process inside: sockets that it makes, and threads that it starts, are inside
    /// too.
    package func inside<Result>(_ body: () throws -> Result) throws -> Result {
        let (own, other) = (open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), open(path, O_RDONLY | O_CLOEXEC))
        defer { for descriptor in [own, other] where descriptor >= 0 { close(descriptor) } }
        guard own >= 0, other >= 0, Self.enter(other) else { throw TestFailure("cannot enter \(path)") }
        // A thread that stayed inside would run later tests there.
        defer { precondition(Self.enter(own), "cannot leave \(path)") }
        return try body()
    }

    private var path: String { "/run/netns/" + name }

    /// The Glibc module does not have `setns`.
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
        // Made inside the first, so that the host's own namespace never has an interface.
        try first.run(["ip", "link", "add", interface, "type", "veth", "peer", "name", interface, "netns", second.name])
        for (namespace, address) in [(first, firstAddress), (second, secondAddress)] {
            try namespace.addAddress(address, to: interface)
            try namespace.run(["ip", "link", "set", interface, "up"])
        }
    }

    /// Adds an address to an interface.
    ///
    /// - Parameter address: with the prefix length of its network, such as `fd09::1/64`.
    package func addAddress(_ address: String, to interface: String) throws {
        try run(["ip", "address", "add", address, "dev", interface])
    }

    /// Drops the packets that `match` describes (in nft's syntax, such as `tcp sport 4711`), in both directions.
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

    /// Whether namespaces can be made here; determined once.
    package static let arePermitted: Bool = {
        guard let namespace = try? NetworkNamespace() else { return false }
        return (try? namespace.drop("tcp dport 9")) != nil
    }()
}
