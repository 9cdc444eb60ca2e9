import Admin
import Configuration
import DNSCache
public import DNSResolver
import DNSWire
import DiskCache
import Glibc
import HTTPDNS
import Platform
import Upstreams

// Where answers are stored beside memory: the shared cache, the disk, and what the policy is called there: texts that change
// with whatever makes an answer another one.

extension Composition {
    /// The policy in force, of what is in force.
    ///
    /// - Parameter routes: with the mode of the switch.
    func identity(
        routes: RoutePolicy, localAnswers: LocalAnswers, translation: Translation, generation: UInt32
    ) -> PolicyIdentity {
        var texts = [sources.localDNS: Self.named(.localDNS, localDNSText)]
        for (tag, forward) in zip(sources.forwards, settings.forwards) {
            texts[tag] = Self.named(.forward, forward.servers.map(\.description).joined(separator: ","))
        }
        for (index, provider) in providers.enumerated() {
            let own = Self.digest([provider.entry.answerIdentity])
            let identity = provider.entry.type.rawValue + own + settings.answers.answerIdentity
            for (source, kind) in [
                (Source.provider(index: index), AnswerKind.provider), (.shared(index: index), .shared),
            ] {
                texts[sources.tag(of: source)] = Self.named(kind, identity, provider: provider.entry.name)
            }
        }
        let verified = sources.tag(of: .verifiedLocalDNS)
        texts[verified] = Self.named(.verifiedLocalDNS, localDNSText)
        return PolicyIdentity(
            sources: texts, standIns: [sources.localDNS, verified],
            digest: Self.digest(policyTexts(mode: routes.mode) + [translation.description] + texts.values.sorted()),
            generation: generation,
            route: { question, isSigned in
                localAnswers.reply(to: question, policy: routes, isSigned: isSigned) == nil
                    ? routes.route(for: question.name, question.type).tag : nil
            })
    }

    /// The network's resolvers: on another network they are others, and what they answered means nothing there.
    private var localDNSText: String {
        let groups = (try? settings.localDNSServers()) ?? localDNS.groups
        return groups.map { $0.map(\.description).joined(separator: ",") }.joined(separator: ";")
    }

    /// What decides beside the sources: the lists, and what is in force of what they leave open.
    private func policyTexts(mode: Mode) -> [String] {
        let names = NetworkNames.translation + (settings.route.networkNames == nil ? Array(NetworkNames.builtIn) : [])
        return [mode.rawValue, settingsIdentity, "\(settings.route.protectsUnlisted)"]
            + [names, Self.searchDomains(settings)].map { $0.map(\.description).joined(separator: ",") }
    }

    /// The source as output has it, and a digest of all that counts.
    private static func named(_ kind: AnswerKind, _ text: String, provider: String = "") -> String {
        "\(SourceName(kind, provider: provider).text) \(digest([text]))"
    }

    /// 16 hexadecimal digits. Without SHA-256 in the library each start has another: nothing of the last time is used.
    nonisolated static func digest(_ texts: [String]) -> String {
        let bytes = texts.flatMap { Array($0.utf8) + [UInt8(0)] }
        guard let digest = OpenSSLCrypto().sha256(bytes) else {
            return String(UInt64.random(in: .min ... .max), radix: 16)
        }
        return TextEncoding.hexadecimal(digest.prefix(8))
    }
}

extension Composition {
    /// The shared cache of a configuration; nil when none is wanted. What is connected stays so over a reload that changes
    /// nothing of it.
    static func shared(
        _ settings: Configuration, _ providers: [ConfiguredProvider], replacing old: Composition?,
        _ timeOfDay: TimeOfDay,
        bootstrap: HostSources, paths: NetworkPaths, loop: EventLoop, events: EventLog
    ) -> SharedCache? {
        guard let wanted = SharedStoreSettings(settings.cache.shared) else { return nil }
        let same = old?.shared.flatMap { $0.store.settings == wanted && old?.hosts === bootstrap ? $0.store : nil }
        let made =
            same
            ?? SharedStore(
                wanted, loop: loop, bootstrap: bootstrap, paths: paths, hasTime: { timeOfDay.doubt == nil },
                timeOfDay: { Int64(time(nil)) }, report: { events.report(LogMessage($0)) })
        guard let store = made else { return nil }
        // The order counts: an answer names its provider by its place.
        let policy = providers.map { $0.entry.answerIdentity } + [settings.answers.answerIdentity]
        return SharedCache(
            store, policy: policy.joined(separator: "\n"), freshness: FreshnessPolicy(settings.cache))
    }

    /// Counts the calls of the providers together with other servers, where that is wanted.
    func countCalls(replacing old: Composition?) {
        let store = shared.flatMap { $0.store.settings.countsCalls ? $0.store : nil }
        for provider in providers {
            let former = old?.providers.first { $0.entry.accountText == provider.entry.accountText }
            provider.upstream.countCalls(in: store, as: provider.entry.accountText, replacing: former?.upstream)
        }
    }

    /// Ends the connections of a shared cache that `new` does not use any more.
    func closeShared(unlessUsedBy new: Composition) {
        if let shared, shared.store !== new.shared?.store { shared.store.close() }
    }
}

extension DiskCache {
    /// Bytes in the file for each byte of `cache.memory`: names that memory has no room for are still of use.
    private static let fileShare = 2

    /// Begins to open the disk of a configuration, which is used once it has a policy; nil when none is wanted, or none can
    /// be had.
    ///
    /// - Parameter isPaused: whether another process has the file: it is opened by `resume`.
    @Loop
    static func start(
        _ settings: Configuration, memory: MemoryCache, isPaused: Bool, log: LogOutput
    ) -> DiskCache? {
        guard !settings.cache.disk.path.isEmpty else { return nil }
        do throws(SystemError) {
            return try DiskCache(
                settings.cache.disk.path, limit: settings.cache.memory * fileShare, memory: memory,
                clock: WallClock(now: { .bootTime }, secondsSince1970: { Int64(time(nil)) }), isPaused: isPaused
            ) { [logger = log.logger] in logger.log($0.kind, $0.text) }
        } catch {
            log.logger.log(.diskUnavailable, "\(error); answers are cached in memory alone")
            return nil
        }
    }
}

/// The disk is where answers go; neither target knows the other.
extension DiskCache: AnswerArchive {}
