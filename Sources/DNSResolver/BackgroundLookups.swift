import DNSWire
import Scheduling

/// Names that are looked up without a client who waits for them, a few requests at a time, so that clients always come first.
@Loop
final class BackgroundLookups {
    /// How many names, or batches of names, are under way at once.
    static let atOnce = 4
    /// How many names may wait; more are left out, and looked up when a client asks.
    static let capacity = 10_000

    /// Which names a name may share a request with: those of the same provider, so many at most; nil: it goes alone.
    typealias Batching = @Loop (Name) -> (provider: Int, maximumNames: Int)?

    /// In the order in which they are looked up.
    private var waiting: ArraySlice<Name> = []
    /// Names taken from those that wait whose batch is not full yet, by provider.
    private var gathered: [Int: [Name]] = [:]
    private var underWay = 0
    // They hold on to the resolver, which holds on to us.
    private var batch: Batching?
    private var lookUp: (@Loop ([Name]) async -> Void)?

    nonisolated init() {}

    /// Looks these names up, in place of those that still wait.
    ///
    /// - Parameters:
    ///   - batch: asked of each name when its turn comes.
    ///   - lookUp: returns when the names have their answers, or will not have them.
    func begin(_ names: [Name], batch: @escaping Batching, lookUp: @escaping @Loop ([Name]) async -> Void) {
        self.batch = batch
        self.lookUp = lookUp
        waiting = names.prefix(Self.capacity)
        gathered = [:]
        startNext()
    }

    private func startNext() {
        guard let batch, let lookUp else { return }
        while underWay < Self.atOnce, let names = next(batch) {
            underWay += 1
            Loop.spawn { [self] in
                await lookUp(names)
                underWay -= 1
                startNext()
            }
        }
        guard underWay == 0 else { return }
        self.batch = nil
        self.lookUp = nil
    }

    /// A name that goes alone, a full batch, or at the end what is left of one.
    private func next(_ batch: Batching) -> [Name]? {
        while let name = waiting.popFirst() {
            guard let (provider, maximumNames) = batch(name) else { return [name] }
            gathered[provider, default: []].append(name)
            if gathered[provider, default: []].count >= maximumNames { return gathered.removeValue(forKey: provider) }
        }
        return gathered.popFirst()?.value
    }
}
