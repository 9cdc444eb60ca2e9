import Configuration
import DNSCache
import DNSResolver
import Glibc
import Logging
import Logs
import Platform
import Scheduling
import Upstreams

// The cache that several servers share.

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
        let policy = providers.map { $0.entry.answerIdentity.text } + [settings.answers.answerIdentity.text]
        return SharedCache(
            store, policy: policy.joined(separator: "\n"), freshness: FreshnessPolicy(settings.cache))
    }

    /// Counts the calls of the providers together with other servers, where that is wanted.
    func countCalls(replacing old: Composition? = nil) {
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

extension SharedStoreSettings {
    /// Nil when nothing is shared.
    fileprivate init?(_ shared: Configuration.SharedCache) {
        guard let url = shared.url, let key = shared.key else { return nil }
        let place: RedisSettings.Place =
            switch url.place {
            case .host(let host, let port, let usesTLS): .host(host.description, port: port, usesTLS: usesTLS)
            case .path(let path): .path(path)
            }
        self.init(
            redis: RedisSettings(
                place: place, user: url.user, password: url.password, database: url.database, caFile: shared.caFile,
                timeout: shared.timeout),
            key: key, prefix: shared.prefix, takesLease: shared.lease, countsCalls: shared.limits)
    }
}

/// What to look at when Redis cannot be asked or refuses a command.
private func keyToCheck(_ reason: String) -> String {
    func says(_ texts: String...) -> Bool { texts.contains { reason.contains($0) } }
    if says("NOAUTH") { return "cache.shared.url: it has no password, and this Redis wants one" }
    if says("WRONGPASS", "AUTH") { return "user and password in cache.shared.url" }
    if says("NOPERM") { return "the rights of the user in cache.shared.url" }
    if says("OOM") { return "maxmemory-policy of Redis: allkeys-lru" }
    if says("READONLY", "MASTERDOWN", "LOADING") { return "that cache.shared.url leads to the master" }
    if says("MOVED", "CLUSTERDOWN") {
        return "cache.shared.url: it leads to a node of a Redis Cluster, which is not followed; give a proxy's address"
    }
    if says("certificate") { return "cache.shared.ca_file, and the host in cache.shared.url" }
    if says("no reply") { return "cache.shared.url, the network, and cache.shared.timeout" }
    if says("not Redis's protocol") { return "cache.shared.url: what answers is no Redis, or wants rediss://" }
    return "cache.shared.url"
}

extension LogMessage {
    fileprivate init(_ event: SharedStoreEvent) {
        switch event {
        case .unavailable(let place, let reason):
            self.init(
                .sharedUnavailable, about: place,
                "the shared cache at \(place) is in backoff, and providers are asked instead: \(reason). Check \(keyToCheck(reason))",
                ["address": "\(place)", "reason": "\(reason)"])
        case .available(let place):
            self.init(
                .sharedBack, about: place, "the shared cache at \(place) answers again", ["address": "\(place)"])
        case .refused(let place, let reason):
            self.init(
                .sharedRefused, about: place,
                "the shared cache at \(place) takes no answers: \(reason). Check \(keyToCheck(reason))",
                ["address": "\(place)", "reason": "\(reason)"])
        case .damaged(let place):
            self.init(
                .sharedDamaged, about: place,
                "a value of the shared cache at \(place) is no answer: it was sealed under another cache.shared.key, or changed",
                ["address": "\(place)"])
        }
    }
}
