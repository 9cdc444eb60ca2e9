package import DNSWire
package import Scheduling

/// Names that nobody else can know, asked through a server to see whether the question comes back to us.
///
/// The first label is 128 bits at random, so that a name seen on our own listener has gone out from here. It stands below
/// `zone` or below the suffix that the server is asked for. `invalid` and `test` would not do: resolvers answer them by
/// themselves, and a loop that catches all other names would stay hidden.
@Loop
package final class LoopProbes {
    /// Where a resolver of the network is probed. `internal` is never delegated (ICANN, July 2024), and
    /// resolvers forward it like any other domain.
    package nonisolated static let zone = (try? Name("loop.httpdnsd.internal")) ?? .root

    /// The length of the first label: 32 hexadecimal digits.
    private nonisolated static let labelLength = 32

    /// What is out, and who wants to hear of it; one name for each server.
    private var open: [Name: @Loop () -> Void] = [:]

    package nonisolated init() {}

    /// A new name below `suffix`; nil when it would be too long.
    ///
    /// - Parameter onSeen: called each time the name is asked here, until `close`.
    package func open(below suffix: Name, onSeen: @escaping @Loop () -> Void) -> Name? {
        let digits = String(UInt128.random(in: .min ... .max), radix: 16)
        let label = String(repeating: "0", count: Self.labelLength - digits.utf8.count) + digits
        guard let name = try? suffix.prepending(label: label.utf8) else { return nil }
        open[name] = onSeen
        return name
    }

    /// Expects the name no longer.
    package func close(_ name: Name) { open[name] = nil }

    /// Whether a question asked here is one of these names, whose owner is told.
    func take(_ name: Name) -> Bool {
        guard name.wire.first == UInt8(Self.labelLength), let onSeen = open[name] else { return false }
        onSeen()
        return true
    }
}
