import Platform

extension Configuration {
    /// `[cache]`.
    package struct CacheSettings: SettingsTable {
        /// Bytes, 1 MiB to 1 TiB.
        package var memory = 64 << 20
        /// Whole seconds up to 7 days, not above `maxTTL`.
        package var minTTL = Duration.zero
        /// Whole seconds, 1 s to 7 days.
        package var maxTTL = Duration.seconds(86_400)
        /// Of a negative answer when the provider gives none; whole seconds up to a day.
        package var negativeTTL = Duration.seconds(30)
        package var prefetch = true
        package var stale = Stale()
        package var disk = Disk()
        package var shared = SharedCache()

        package init() {}

        static let settings: [Setting<CacheSettings>] = [
            Setting("memory", \.memory, .size(in: 1 << 20...1 << 40)),
            Setting("min_ttl", \.minTTL, .duration(in: .zero ... .seconds(7 * 86_400), wholeSeconds: true)),
            Setting("max_ttl", \.maxTTL, .duration(in: .seconds(1) ... .seconds(7 * 86_400), wholeSeconds: true)),
            Setting("negative_ttl", \.negativeTTL, .duration(in: .zero ... .seconds(86_400), wholeSeconds: true)),
            Setting("prefetch", \.prefetch, .boolean),
            Setting("stale", \.stale, .table),
            Setting("disk", \.disk, .table),
            Setting("shared", \.shared, .table),
        ]

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
        package var wait = Duration.milliseconds(200)
        /// How long past its TTL an answer may be served; up to 30 days, zero switches serve-stale off.
        package var max = Duration.seconds(86_400)

        package init() {}

        static let settings: [Setting<Stale>] = [
            Setting("wait", \.wait, .duration(in: .zero ... .milliseconds(1800))),
            Setting("max", \.max, .duration(in: .zero ... .seconds(30 * 86_400))),
        ]
    }

    /// `[cache.disk]`.
    package struct Disk: SettingsTable {
        /// Absolute; empty: no disk cache.
        package var path = "/var/lib/httpdnsd/cache.sqlite"
        /// 100 ms to 1 h.
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

        static let settings: [Setting<Disk>] = [
            Setting("path", \.path, .path()),
            Setting("flush_interval", \.flushInterval, .duration(in: .milliseconds(100) ... .seconds(3600))),
        ]
    }
}
