import Platform

extension Configuration {
    /// `[cache]`.
    package struct CacheSettings: SettingsTable {
        /// Bytes, 1 MiB to 1 TiB.
        @Setting("memory", .size(in: 1 << 20...1 << 40)) package var memory = 64 << 20
        /// Whole seconds up to 7 days, not above `maxTTL`.
        @Setting("min_ttl", .duration(in: .zero ... .seconds(7 * 86_400), wholeSeconds: true))
        package var minTTL = Duration.zero
        /// Whole seconds, 1 s to 7 days.
        @Setting("max_ttl", .duration(in: .seconds(1) ... .seconds(7 * 86_400), wholeSeconds: true))
        package var maxTTL = Duration.seconds(86_400)
        /// Of a negative answer when the provider gives none; whole seconds up to a day.
        @Setting("negative_ttl", .duration(in: .zero ... .seconds(86_400), wholeSeconds: true))
        package var negativeTTL = Duration.seconds(30)
        @Setting("prefetch", .boolean) package var prefetch = true
        @Setting("stale", .table) package var stale = Stale()
        @Setting("disk", .table) package var disk = Disk()
        @Setting("shared", .table) package var shared = SharedCache()

        package init() {}

        mutating func finish(_ keys: TableKeys) {
            guard minTTL > maxTTL, keys.isSound("min_ttl"), keys.isSound("max_ttl") else { return }
            keys.fail(
                keys.isWritten("min_ttl") ? "min_ttl" : "max_ttl",
                "cache.min_ttl must not be above cache.max_ttl (\(DurationText.write(maxTTL)))")
        }
    }

    /// `[cache.stale]`: RFC 8767.
    package struct Stale: SettingsTable {
        /// How long a client waits for the refresh before it gets the stale answer; up to 1.8 s.
        @Setting("wait", .duration(in: .zero ... .milliseconds(1800))) package var wait = Duration.milliseconds(200)
        /// How long past its TTL an answer may be served; up to 30 days, zero switches serve-stale off.
        @Setting("max", .duration(in: .zero ... .seconds(30 * 86_400))) package var max = Duration.seconds(86_400)

        package init() {}
    }

    /// `[cache.disk]`.
    package struct Disk: SettingsTable {
        /// Absolute; empty: no disk cache.
        @Setting("path", .path()) package var path = "/var/lib/httpdnsd/cache.sqlite"
        /// 100 ms to 1 h.
        @Setting("flush_interval", .duration(in: .milliseconds(100) ... .seconds(3600)))
        package var flushInterval = Duration.seconds(1)

        /// Directories that systems empty when they start, or that systemd removes with the service.
        private static let volatile = ["/run", "/var/run", "/tmp", "/dev/shm"]

        package init() {}

        func finish(_ keys: TableKeys) {
            if let folder = SystemFolder(of: self.path), !folder.isForAll {
                return keys.warn(
                    "path",
                    "\(quoted(self.path)) is not written: its folder \(folder.path) is the system's, and the server writes"
                        + " nothing there; write one of its own, as in the default \(Disk().path)")
            }
            guard let directory = Self.volatile.first(where: { self.path.hasPrefix($0 + "/") }) else { return }
            keys.warn(
                "path",
                "\(quoted(self.path)) does not outlast a restart, because \(directory) is emptied; the default is"
                    + " \(Disk().path)")
        }
    }
}
