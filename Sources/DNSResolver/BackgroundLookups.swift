import DNSWire
import Scheduling

/// Names that are looked up without a client who waits for them, a few at a time, so that clients always come first.
@Loop
final class BackgroundLookups {
    /// How many names are under way at once.
    static let atOnce = 4
    /// How many may wait; more are left out, and looked up when a client asks.
    static let capacity = 10_000

    /// In the order in which they are looked up.
    private var waiting: ArraySlice<Name> = []
    private var underWay = 0
    private var lookUp: (@Loop (Name) async -> Void)?

    nonisolated init() {}

    /// Looks these names up, in place of those that still wait.
    ///
    /// One after the other: where a service takes several names in one call, this is the place that has them together.
    /// - Parameter lookUp: returns when the name has its answers, or will not have them.
    func begin(_ names: [Name], _ lookUp: @escaping @Loop (Name) async -> Void) {
        self.lookUp = lookUp
        waiting = names.prefix(Self.capacity)
        while underWay < Self.atOnce, !waiting.isEmpty { startNext() }
    }

    private func startNext() {
        guard let lookUp, let name = waiting.popFirst() else {
            // It holds on to the resolver, which holds on to us.
            if underWay == 0 { lookUp = nil }
            return
        }
        underWay += 1
        Loop.spawn { [self] in
            await lookUp(name)
            underWay -= 1
            startNext()
        }
    }
}
