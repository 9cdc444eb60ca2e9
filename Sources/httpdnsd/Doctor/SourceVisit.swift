import Configuration
import DNSCache
import DNSResolver
import DNSWire
import Platform
import Scheduling
import Upstreams

/// The shared cache and the providers, asked once from this machine as the server would ask them: one call to each provider, of
/// which no limit knows.
///
/// One event loop has them all, on the thread of the caller: a process has one at a time.
@Loop
final class SourceVisit {
    /// What a provider is asked for that is for all names (RFC 2606).
    private static let neutralName = (try? Name("example.com")) ?? .root
    /// How much longer than the shared cache a provider may take, which may have to look its own host up.
    private static let extraTime = Duration.seconds(2)

    /// What came of it: nil where there is no shared cache, or it was not to be asked; and why a provider has not answered, by its
    /// name, nil where it has.
    typealias Outcome = (shared: SharedExamination?, questions: [String: String?])

    private var outcome: Outcome = (nil, [:])
    /// How many of them have not answered yet.
    private var left = 0
    private let settings: Configuration
    private let loop: EventLoop

    private nonisolated init(_ settings: Configuration, _ loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    /// Asks. Blocks, for `patience` and the extra time of providers at most.
    ///
    /// - Parameters:
    ///   - providers: those to ask.
    ///   - asksShared: whether the shared cache is asked, where there is one.
    nonisolated static func outcome(
        of settings: Configuration, asking providers: [Configuration.ProviderEntry], asksShared: Bool,
        within patience: Duration
    ) throws(SystemError) -> Outcome {
        let asksShared = asksShared && settings.cache.shared.url != nil
        guard asksShared || !providers.isEmpty else { return (nil, [:]) }
        let loop = try EventLoop()
        let visit = SourceVisit(settings, loop)
        Loop.spawn {
            for provider in providers { visit.ask(provider) }
            if asksShared { visit.askShared(within: patience) }
            _ = loop.schedule(after: patience + extraTime) { loop.stop() }
        }
        loop.run()
        return Loop.assumeIsolated { visit.outcome }
    }

    private func askShared(within patience: Duration) {
        perform { [self] in
            let composition = Composition(settings, loop: loop, events: .silent(on: loop))
            outcome.shared = await composition.shared?.store.examine(until: loop.now + patience)
        }
    }

    private func ask(_ provider: Configuration.ProviderEntry) {
        outcome.questions[provider.name] = .some("no answer in time")
        perform { [self] in
            let question = Question(name: provider.names.first ?? Self.neutralName, type: .a)
            let lookup = SingleLookup([question], via: provider.name, loop: loop)
            await lookup.run(settings)
            outcome.questions[provider.name] = .some(lookup.found.compactMap(\.silence).first)
        }
    }

    /// Does one thing of the visit; the last ends it.
    private func perform(_ work: @escaping @Loop () async -> Void) {
        left += 1
        Loop.spawn { [self] in
            await work()
            left -= 1
            if left == 0 { loop.stop() }
        }
    }
}
