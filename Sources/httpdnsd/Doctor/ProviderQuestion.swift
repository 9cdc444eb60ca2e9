import Configuration
import DNSWire
import Platform
import Scheduling

/// A question to one provider, asked as `httpdnsd query --via` asks it: one call there, of which no limit knows.
enum ProviderQuestion {
    /// The most time for a look-up of the provider's host and the question.
    private static let patience = Duration.seconds(4)
    /// What a provider is asked for that is for all names (RFC 2606).
    private static let neutralName = (try? Name("example.com")) ?? .root

    struct Work {
        fileprivate let reason: BoundedWork<String?>
        fileprivate let end: ContinuousClock.Instant
    }

    /// Asks.
    static func start(_ provider: Configuration.ProviderEntry, _ settings: Configuration) throws(SystemError) -> Work {
        let question = Question(name: provider.names.first ?? neutralName, type: .a)
        return Work(
            reason: try BoundedWork {
                guard let loop = try? EventLoop() else { return nil }
                let lookup = SingleLookup([question], via: provider.name, loop: loop)
                Loop.spawn {
                    await lookup.run(settings)
                    loop.stop()
                }
                loop.run()
                guard case .answered(let results)? = Loop.assumeIsolated({ lookup.outcome }) else { return nil }
                return results.compactMap(\.silence).first
            }, end: .now + patience)
    }

    /// Why it was not answered; nil when it was. Blocks until then.
    static func outcome(of work: Work) -> String? {
        guard let reason = work.reason.value(by: work.end) else { return "no answer in time" }
        return reason
    }
}
