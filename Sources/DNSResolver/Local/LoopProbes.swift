package import DNSWire
package import Scheduling

/// Loop detection: queries for names that exist nowhere else, sent to a server to detect whether they are forwarded
/// back.
///
/// The first label is 128 random bits, so that a query for it on this server's listeners must originate here. It stands
/// below `zone` or below the suffix for which the server is asked. `invalid` and `test` would not do: resolvers answer
/// them themselves, and a loop for all other names would stay undetected.
@Loop
package final class LoopProbes {
    /// The zone in which a resolver of the network is probed. `internal` is never delegated (ICANN, July 2024), and
    /// resolvers forward it like any other domain.
    package nonisolated static let zone = (try? Name("loop.httpdnsd.internal")) ?? .root

    /// The length of the first label: 32 hexadecimal digits.
    private nonisolated static let labelLength = 32

    /// The probes under way and their callbacks; one name for each server.
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

    /// Ends a probe.
    package func close(_ name: Name) { open[name] = nil }

    /// Whether a query received here is for one of these names; if so, its callback is called.
    func received(_ name: Name) -> Bool {
        guard name.wire.first == UInt8(Self.labelLength), let onSeen = open[name] else { return false }
        onSeen()
        return true
    }
}
