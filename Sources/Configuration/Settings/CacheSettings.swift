import DNSWire
public import HTTPDNS
import Platform
public import Upstreams

extension Configuration {
    /// `[cache]`.
    public struct CacheSettings: SettingsTable {
        /// Bytes, 1 MiB to 1 TiB.
        @Setting("memory", .size(in: 1 << 20...1 << 40)) public var memory = 64 << 20
        /// Whole seconds up to 7 days, not above `maxTTL`.
        @Setting("min_ttl", .duration(in: .zero ... .seconds(7 * 86_400), wholeSeconds: true))
        public var minTTL = Duration.zero
        /// Whole seconds, 1 s to 7 days.
        @Setting("max_ttl", .duration(in: .seconds(1) ... .seconds(7 * 86_400), wholeSeconds: true))
        public var maxTTL = Duration.seconds(86_400)
        /// Of a negative answer when the provider gives none; whole seconds up to a day.
        @Setting("negative_ttl", .duration(in: .zero ... .seconds(86_400), wholeSeconds: true))
        public var negativeTTL = Duration.seconds(30)
        @Setting("prefetch", .boolean) public var prefetch = true
        @Setting("stale", .table) public var stale = Stale()
        @Setting("disk", .table) public var disk = Disk()
        @Setting("shared", .table) public var shared = SharedCache()

        mutating func finish(_ keys: TableKeys) {
            guard minTTL > maxTTL, keys.isSound("min_ttl"), keys.isSound("max_ttl") else { return }
            keys.fail(
                keys.isWritten("min_ttl") ? "min_ttl" : "max_ttl",
                "cache.min_ttl must not be above cache.max_ttl (\(maxTTL.written))")
        }
    }

    /// `[cache.stale]`: RFC 8767.
    public struct Stale: SettingsTable {
        /// How long a client waits for the refresh before it gets the stale answer; up to 1.8 s.
        @Setting("wait", .duration(in: .zero ... .milliseconds(1800))) public var wait = Duration.milliseconds(200)
        /// How long past its TTL an answer may be served; up to 30 days, zero switches serve-stale off.
        @Setting("max", .duration(in: .zero ... .seconds(30 * 86_400))) public var max = Duration.seconds(86_400)
    }

    /// `[cache.disk]`.
    public struct Disk: SettingsTable {
        /// Absolute; empty: no disk cache.
        @Setting("path", .path()) public var path = "/var/lib/httpdnsd/cache.sqlite"
        /// 100 ms to 1 h.
        @Setting("flush_interval", .duration(in: .milliseconds(100) ... .seconds(3600)))
        public var flushInterval = Duration.seconds(1)

        /// Directories that systems empty when they start, or that systemd removes with the service.
        private static let volatile = ["/run", "/var/run", "/tmp", "/dev/shm"]

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

extension Configuration {
    /// `[cache.shared]`.
    public struct SharedCache: SettingsTable {
        /// With `timeout` and `caFile`; nil: nothing is shared.
        @Setting("url", .redis) public var redis: RedisSettings?
        /// From `key` or the file of `key_file`: 32 bytes, in a form that `keyLength` has checked.
        @Setting("key", .secret, default: "required with url") public var key: Secret?
        /// Absolute; empty: none.
        @Setting("key_file", .path()) public var keyFile = ""
        @Setting("prefix", .keyPrefix) public var prefix = "httpdnsd:"
        /// Of one look-up; 1 ms to 500 ms.
        @Setting("timeout", .duration(in: .milliseconds(1) ... .milliseconds(500)))
        public var timeout = Duration.milliseconds(50)
        @Setting("lease", .boolean) public var lease = true
        /// Whether `daily_limit` and `monthly_limit` hold for all servers together.
        @Setting("limits", .boolean) public var limits = false
        /// Absolute; empty: the system's.
        @Setting("ca_file", .path()) public var caFile = ""

        mutating func finish(_ keys: TableKeys) {
            guard var redis else {
                guard keys.isSound("url"), self != SharedCache() else { return }
                return keys.reading.warn(keys.path, "has no effect: there is no \(keys.path).url")
            }
            (redis.timeout, redis.caFile) = (timeout, caFile)
            self.redis = redis
            readKey(keys)
            if redis.password != nil, let text = keys.reading.writtenText(of: keys["url"]) {
                keys.reading.noteSecret(keys["url"], WrittenText(value: text, written: text))
            }
            if case .host(_, _, usesTLS: true) = redis.place { return keys.warnOfAuthorities(caFile) }
            if !caFile.isEmpty { keys.warn("ca_file", "has no effect: only a URL with rediss:// uses certificates") }
            if case .host(let host, _, _) = redis.place, redis.password != nil, host != "localhost",
                IPAddress(host)?.isLoopback != true
            {
                keys.warn("url", "sends the password unencrypted: write rediss:// where the server has TLS")
            }
        }

        private mutating func readKey(_ keys: TableKeys) {
            keys.complete(&key, from: keyFile, key: "key")
            guard keys.isSound("key"), keys.isSound("key_file") else { return }
            guard let key else {
                return keys.fail(
                    "key",
                    "is missing: write the fleet's secret, 32 bytes that `openssl rand -hex 32` makes, as a variable such as"
                        + " \"${HTTPDNSD_SHARED_KEY}\"")
            }
            let length = (TextDecoding.hexadecimal(key.value) ?? TextDecoding.base64(key.value))?.count
            guard length != 32 else { return }
            let what = length.map { "has \($0) bytes" } ?? "is neither hexadecimal nor base64"
            keys.fail(
                keyFile.isEmpty ? "key" : "key_file",
                "\(what): it must be 32 bytes, as `openssl rand -hex 32` makes them")
        }
    }
}

extension Kind where Value == String {
    /// What names in Redis begin with: up to 64 characters without blanks.
    fileprivate static var keyPrefix: Kind {
        .text(
            "text", range: "up to 64 characters", expected: "a text in quotes such as \"httpdnsd:\"",
            problem: "must be up to 64 visible ASCII characters, without blanks",
            value: { $0.utf8.count <= 64 && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) } ? $0 : nil })
    }
}

extension RedisSettings {
    /// The port of Redis.
    private static let defaultPort: UInt16 = 6_379

    /// Where the shared cache of a configuration is: over TCP, over TLS, or behind a Unix socket, with user, password and
    /// database. Reads `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, the same with `rediss` for TLS, and
    /// `unix:[//USER:PASSWORD@]/PATH[?database=NUMBER]`; user and password percent-encoded.
    ///
    /// The error's text holds no part of the URL, which holds a password.
    init(url text: String) throws(ValueProblem) {
        self = text.hasPrefix("unix:") ? try Self.socket(text.dropFirst("unix:".count)) : try Self.host(text)
    }

    private static func host(_ text: String) throws(ValueProblem) -> RedisSettings {
        guard let mark = text.firstRange(of: "://"),
            ["redis", "rediss"].contains(text[..<mark.lowerBound].lowercased())
        else { throw ValueProblem("must begin with redis://, rediss:// (for TLS) or unix:/") }
        let usesTLS = text[..<mark.lowerBound].lowercased() == "rediss"
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let (user, password, hostAndPort) = try account(authority)
        let (host, port) = try ProviderURL.hostAndPort(hostAndPort)
        var path = rest[authority.endIndex...]
        if path.hasPrefix("/") { path = path.dropFirst() }
        return RedisSettings(
            place: .host("\(host)", port: port ?? defaultPort, usesTLS: usesTLS), user: user, password: password,
            database: try database(path))
    }

    private static func socket(_ text: Substring) throws(ValueProblem) -> RedisSettings {
        var rest = text
        var (user, password): (String, Secret?) = ("", nil)
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            if let mark = rest.lastIndex(of: "@") {
                (user, password, _) = try account(rest[...mark])
                rest = rest[rest.index(after: mark)...]
            }
        }
        let path = String(rest.prefix { $0 != "?" })
        let query = rest.dropFirst(path.count)
        guard path.hasPrefix("/"), path.utf8.count <= 107, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw ValueProblem(
                "must name the socket by an absolute path of at most 107 characters, as in unix:/run/redis/redis.sock")
        }
        guard query.isEmpty || query.hasPrefix("?database=") else {
            throw ValueProblem("must end behind the path, or with ?database=NUMBER")
        }
        return RedisSettings(
            place: .path(path), user: user, password: password,
            database: try database(query.dropFirst("?database=".count)))
    }

    /// Takes `USER:PASSWORD@` off the front; a user or a password alone is one.
    private static func account(
        _ authority: Substring
    ) throws(ValueProblem) -> (user: String, password: Secret?, rest: Substring) {
        guard let mark = authority.lastIndex(of: "@") else { return ("", nil, authority) }
        let account = authority[..<mark]
        let rest = authority[authority.index(after: mark)...]
        guard let colon = account.firstIndex(of: ":") else {
            throw ValueProblem(
                "must have a password behind the user, as in redis://user:password@host, or redis://:password@host")
        }
        let user = try decoded(account[..<colon])
        let password = try decoded(account[account.index(after: colon)...])
        guard !password.isEmpty else { throw ValueProblem("has an empty password: leave out everything up to the @") }
        return (user, Secret(password), rest)
    }

    private static func database(_ text: Substring) throws(ValueProblem) -> Int {
        guard !text.isEmpty else { return 0 }
        guard let number = OutsideNumber(digits: text)?.within(0...65_535) else {
            throw ValueProblem("must end with the number of the database, 0 to 65535, or before it")
        }
        return number
    }

    /// Percent-encoding undone.
    private static func decoded(_ text: Substring) throws(ValueProblem) -> String {
        guard let bytes = TextDecoding.percent(text.utf8), let text = String(validating: bytes, as: UTF8.self) else {
            throw ValueProblem("has a % in user or password that must be written as %25")
        }
        return text
    }
}

extension Kind where Value == RedisSettings? {
    /// Never repeated in an error, because it holds a password.
    fileprivate static var redis: Kind {
        .text(
            "URL", range: "redis rediss unix", expected: "a URL in quotes such as \"redis://192.0.2.1:6379\"",
            isShown: false,
            parse: { text throws(ValueProblem) in text.isEmpty ? nil : try RedisSettings(url: text) },
            write: { _ in "\"\"" })
    }
}
