import DNSWire
import Scheduling

/// Looks names up without a waiting client, a few at a time, so that clients' queries come first.
@Loop
final class BackgroundLookups {
    /// How many names are looked up at once.
    static let atOnce = 4
    /// How many names may wait; the rest is dropped, and looked up when a client asks.
    static let capacity = 10_000

    /// In the order in which they are looked up.
    private var waiting: ArraySlice<Name> = []
    private var underWay = 0
    // A reference cycle while look-ups are under way: the closure holds the resolver, which holds this object.
    private var lookUp: (@Loop (Name) async -> Void)?

    nonisolated init() {}

    /// Looks these names up, instead of those that still wait.
    ///
    /// - Parameter lookUp: returns when the name has its answers, or will not get any.
    func begin(_ names: [Name], lookUp: @escaping @Loop (Name) async -> Void) {
        self.lookUp = lookUp
        waiting = names.prefix(Self.capacity)
        startNext()
    }

    private func startNext() {
        guard let lookUp else { return }
        while underWay < Self.atOnce, let name = waiting.popFirst() {
            underWay += 1
            Loop.spawn { [self] in
                await lookUp(name)
                underWay -= 1
                startNext()
            }
        }
        if underWay == 0 { self.lookUp = nil }
    }
}
