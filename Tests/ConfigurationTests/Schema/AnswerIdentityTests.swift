@testable import Configuration
import DNSResolver
import DNSWire
import HTTPDNS
import Testing

@Suite struct AnswerIdentityTests {
    private typealias Change = (key: String, change: (inout Configuration) throws -> Void)

    /// Another value for every key. What stays out of the identity is on this list only: an answer does not depend on it.
    private let unshaping: [Change] = [
        ("listen.addresses", { $0.listen.addresses.removeLast() }),
        ("listen.tls", { $0.listen.tls = [try #require(AddressAndPort("192.0.2.1:853"))] }),
        ("listen.https", { $0.listen.https = [try #require(AddressAndPort("192.0.2.1:443"))] }),
        ("listen.certificate", { $0.listen.certificate = "/c.pem" }), ("listen.key", { $0.listen.key = "/k.pem" }),
        ("listen.client_ca", { $0.listen.clientCA = "/ca.pem" }),
        ("listen.https_path", { $0.listen.httpsPath = "/q" }),
        ("listen.proxies", { $0.listen.proxies = [try #require(AddressPrefix("192.0.2.1/32"))] }),
        ("listen.udp_threads", { $0.listen.udpThreads = 2 }),
        ("listen.allow", { $0.listen.allow.removeLast() }), ("listen.user", { $0.listen.user = "nobody" }),
        ("listen.tokens", { $0.listen.tokens = [Secret("s")] }),
        ("listen.cookie_secrets", { $0.listen.cookieSecrets = [Secret("s")] }),
        ("listen.udp_rate", { $0.listen.udpRate = 0 }),
        ("listen.httpdns", { $0.listen.httpdns = [AddressAndPort(.v4(1), port: 80)] }),
        ("listen.http_names", { $0.listen.httpNames = [try Name("dns.example.com")] }),
        ("listen.name", { $0.listen.name = try Name("dns.example.com") }),
        ("listen.advertise", { $0.listen.advertise = [.v4(1)] }),
        ("account[].id", { $0.accounts = [Configuration.AccountEntry()] }),
        ("account[].secret", { $0.accounts = [account { $0.secret = Secret("s") }] }),
        ("account[].secret_file", { $0.accounts = [account { $0.secretFile = "/s" }] }),
        ("account[].access_key_id", { $0.accounts = [account { $0.accessKeyID = "a" }] }),
        ("account[].encryption", { $0.accounts = [account { $0.encryption = .aes }] }),
        ("account[].encryption_key", { $0.accounts = [account { $0.encryptionKey = Secret("s") }] }),
        ("account[].names", { $0.accounts = [account { $0.names = [.root] }] }),
        ("account[].daily_limit", { $0.accounts = [account { $0.dailyLimit = 7 }] }),
        ("account[].client_subnet", { $0.accounts = [account { $0.clientSubnet = true }] }),
        ("account[].replayable", { $0.accounts = [account { $0.replayable = true }] }),
        ("provider[].secret", { $0.providers[0].secret = Secret("another") }),
        ("provider[].secret_file", { $0.providers[0].secretFile = "/run/secret" }),
        ("provider[].encryption_key", { $0.providers[0].encryptionKey = Secret("another") }),
        ("provider[].daily_limit", { $0.providers[0].dailyLimit = 7 }),
        ("provider[].monthly_limit", { $0.providers[0].monthlyLimit = 7 }),
        ("provider[].hedge", { $0.providers[0].hedge = false }),
        ("provider[].timeout", { $0.providers[0].timeout = .seconds(2) }),
        ("localdns.timeout", { $0.localDNS.timeout = .seconds(2) }),
        ("cache.memory", { $0.cache.memory = 1 << 20 }), ("cache.min_ttl", { $0.cache.minTTL = .seconds(7) }),
        ("cache.max_ttl", { $0.cache.maxTTL = .seconds(7) }),
        ("cache.negative_ttl", { $0.cache.negativeTTL = .seconds(7) }),
        ("cache.prefetch", { $0.cache.prefetch = false }), ("cache.stale.wait", { $0.cache.stale.wait = .zero }),
        ("cache.stale.max", { $0.cache.stale.max = .zero }), ("cache.disk.path", { $0.cache.disk.path = "" }),
        ("cache.disk.flush_interval", { $0.cache.disk.flushInterval = .seconds(7) }),
        ("cache.shared.url", { $0.cache.shared.url = try SharedCacheURL("redis://192.0.2.1") }),
        ("cache.shared.key", { $0.cache.shared.key = Secret("s") }),
        ("cache.shared.key_file", { $0.cache.shared.keyFile = "/k" }),
        ("cache.shared.prefix", { $0.cache.shared.prefix = "p:" }),
        ("cache.shared.timeout", { $0.cache.shared.timeout = .milliseconds(7) }),
        ("cache.shared.lease", { $0.cache.shared.lease = false }),
        ("cache.shared.limits", { $0.cache.shared.limits = true }),
        ("cache.shared.ca_file", { $0.cache.shared.caFile = "/ca.pem" }),
        ("preset.always", { $0.preset.always = [try preset()] }),
        ("preset.last_resort", { $0.preset.lastResort = [try preset()] }),
        ("preset.preresolve", { $0.preset.preresolve = [try Name("www.example.com")] }),
        ("preset.hosts_file", { $0.preset.hostsFile = "/etc/hosts" }),
        ("answers.prefer", { $0.answers.prefer = .ipv4 }), ("answers.rotate", { $0.answers.rotate = false }),
        ("answers.hide_canary", { $0.answers.hideCanary = false }),
        ("policy.url", { $0.policy.url = .file("/a.policy") }),
        ("policy.public_key", { $0.policy.keys = [try #require(PolicyKey(bytes: [UInt8](repeating: 1, count: 32)))] }),
        ("policy.interval", { $0.policy.interval = .seconds(7) }), ("policy.on_expiry", { $0.policy.onExpiry = .keep }),
        ("policy.labels", { $0.policy.labels = ["lab"] }), ("policy.ca_file", { $0.policy.caFile = "/ca.pem" }),
        ("control.socket", { $0.control.socket = "" }), ("control.group", { $0.control.group = "staff" }),
        ("control.mode", { $0.control.mode = .everyone }),
        ("control.http_names", { $0.control.httpNames = [try Name("dns.example.com")] }),
        ("control.http", { $0.control.http = AddressAndPort("127.0.0.1:9") }),
        ("http.proxy", { $0.http.proxy = AddressAndPort("192.0.2.8:3128") }),
        ("limits.memory", { $0.limits.memory = 1 << 30 }),
        ("limits.misses_per_second", { $0.limits.missesPerSecond = 50 }),
        ("limits.misses_burst", { $0.limits.missesBurst = 7 }), ("log.level", { $0.log.level = .error }),
        ("log.format", { $0.log.format = .json }), ("log.queries", { $0.log.queries = true }),
        ("log.dnstap", { $0.log.dnstap = .unix("/s") }),
    ]

    private let shaping: [Change] = [
        ("provider[].type", { $0.providers[0].type = .tencent }),
        ("provider[].name", { $0.providers[0].name = "other" }),
        ("provider[].account", { $0.providers[0].account = "139451" }),
        ("provider[].access_key_id", { $0.providers[0].accessKeyID = "other" }),
        ("provider[].encryption", { $0.providers[0].encryption = .gcm }),
        ("provider[].region", { $0.providers[0].region = .hk }),
        ("provider[].url", { $0.providers[0].url = ProviderURL(.https, .address(.v4(9))) }),
        ("provider[].addresses", { $0.providers[0].addresses.removeLast() }),
        ("provider[].startup_addresses", { $0.providers[0].startupAddresses.append($0.providers[0].addresses[0]) }),
        ("provider[].tls_names", { $0.providers[0].tlsNames.removeLast() }),
        ("provider[].ca_file", { $0.providers[0].caFile = "/ca" }),
        ("provider[].pin", { $0.providers[0].pins = [try pin()] }),
        ("provider[].names", { $0.providers[0].names = [try Name("example.com")] }),
        ("provider[].client_subnet", { $0.providers[0].clientSubnet = .client(bits: 24) }),
        ("route.mode", { $0.route.mode = .httpdnsOnly }), ("route.protect", { $0.route.protect = [try Name("a")] }),
        ("route.bypass", { $0.route.bypass = [] }), ("route.network_names", { $0.route.networkNames = [] }),
        ("forward[].suffixes", { $0.forwards[0].suffixes = [try Name("b")] }),
        ("forward[].servers", { $0.forwards[0].servers.append($0.forwards[0].servers[0]) }),
        ("localdns.servers", { $0.localDNS.servers = .groups([$0.forwards[0].servers]) }),
        ("localdns.resolv_conf", { $0.localDNS.resolvConf = "/run/resolv.conf" }),
        ("localdns.max_ttl", { $0.localDNS.maxTTL = .seconds(7) }),
        ("localdns.certificate_check", { $0.localDNS.certificateCheck = .off }),
        ("localdns.certificate_ports", { $0.localDNS.certificatePorts = [443, 8443] }),
        ("localdns.unverified", { $0.localDNS.unverified = [try Name("a")] }),
        ("answers.https_records", { $0.answers.httpsRecords = .forward }),
        ("answers.bogus", { $0.answers.bogus = [try #require(AddressPrefix("192.0.2.9/32"))] }),
        ("answers.private_addresses", { $0.answers.privateAddresses = .drop }),
        ("answers.private_names", { $0.answers.privateNames = [try Name("a")] }),
        ("answers.dns64", { $0.answers.dns64 = .off }),
    ]

    private let base: Configuration

    init() throws {
        base = try accepted(everyKey, environment: ["ALIYUN_HTTPDNS_SECRET": "s"]).configuration
    }

    @Test func `every key of the schema is on one of the two lists`() {
        #expect((unshaping + shaping).map(\.key).sorted() == Schema.keys.map(\.path).sorted())
    }

    @Test func `a key that shapes answers makes another identity, of its table and of the whole`() throws {
        for (key, change) in shaping {
            var changed = base
            try change(&changed)
            #expect(changed.answerIdentity != base.answerIdentity, "\(key)")
            if key.hasPrefix("provider") {
                #expect(changed.providers[0].answerIdentity != base.providers[0].answerIdentity, "\(key)")
            }
            if key.hasPrefix("answers") {
                #expect(changed.answers.answerIdentity != base.answers.answerIdentity, "\(key)")
            }
        }
    }

    @Test func `a key that shapes no answer leaves every identity as it is`() throws {
        for (key, change) in unshaping {
            var changed = base
            try change(&changed)
            #expect(changed != base, "\(key)")
            #expect(changed.answerIdentity == base.answerIdentity, "\(key)")
            #expect(changed.providers[0].answerIdentity == base.providers[0].answerIdentity, "\(key)")
            #expect(changed.answers.answerIdentity == base.answers.answerIdentity, "\(key)")
        }
    }

    @Test func `texts that differ only far behind make different identities`() throws {
        var (one, other) = (base.providers[0], base.providers[0])
        let path = "/" + String(repeating: "a", count: 200)
        one.caFile = path + "1"
        other.caFile = path + "2"
        #expect(one.answerIdentity != other.answerIdentity)
    }

    @Test func `what stands between lists cannot be moved from one to the other`() throws {
        var (one, other) = (base.answers, base.answers)
        one.privateNames = [try Name("a"), try Name("b")]
        other.privateNames = [try Name("a\\,\\ b")]
        #expect(one.answerIdentity != other.answerIdentity)
    }

    @Test func `the identity holds no secret`() throws {
        #expect(
            try !accepted(everyKey, environment: ["ALIYUN_HTTPDNS_SECRET": "hunter2"]).configuration.answerIdentity
                .text.contains("hunter2"))
    }
}

private func preset() throws -> PresetEntry {
    PresetEntry(name: try Name("www.example.com"), isWildcard: false, line: 1, addresses: [.v4(9)])
}

private func pin() throws -> PublicKeyPin {
    try #require(PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
}

/// An account with one key that is not its default.
private func account(_ change: (inout Configuration.AccountEntry) -> Void) -> Configuration.AccountEntry {
    var account = Configuration.AccountEntry()
    change(&account)
    return account
}
