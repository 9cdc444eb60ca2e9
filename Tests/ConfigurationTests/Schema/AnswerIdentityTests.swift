@testable import Configuration
import DNSResolver
import DNSWire
import HTTPDNS
import Testing
import Upstreams

struct AnswerIdentityTests {
    private typealias Change = (key: String, change: (inout Configuration) throws -> Void)

    /// Another value for every key on which an answer depends. All others stay out of the identity.
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
        ("provider[].pin", { $0.providers[0].pins = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="] }),
        ("provider[].names", { $0.providers[0].names = [try Name("example.com")] }),
        ("provider[].client_subnet", { $0.providers[0].clientSubnet = .clients(ClientScoping(bits: 24)) }),
        ("route.mode", { $0.route.mode = .httpdnsOnly }), ("route.protect", { $0.route.protect = [try Name("a")] }),
        ("route.bypass", { $0.route.bypass = [] }), ("route.network_names", { $0.route.networkNames = [] }),
        ("forward[].suffixes", { $0.forwards[0].suffixes = [try Name("b")] }),
        ("forward[].servers", { $0.forwards[0].servers.append($0.forwards[0].servers[0]) }),
        ("localdns.servers", { $0.localDNS.groups = [$0.forwards[0].servers] }),
        ("localdns.resolv_conf", { $0.localDNS.resolvConf = "/run/resolv.conf" }),
        ("localdns.max_ttl", { $0.localDNS.maxTTL = .seconds(7) }),
        ("localdns.certificate_check", { $0.localDNS.certificateCheck = .off }),
        ("localdns.certificate_ports", { $0.localDNS.certificatePorts = [443, 8443] }),
        ("localdns.unverified", { $0.localDNS.unverified = [try Name("a")] }),
        ("answers.https_records", { $0.answers.guardsServiceBindings = false }),
        ("answers.bogus", { $0.answers.bogus = [try #require(AddressPrefix("192.0.2.9/32"))] }),
        ("answers.private_addresses", { $0.answers.dropsPrivate = true }),
        ("answers.private_names", { $0.answers.privateNames = [try Name("a")] }),
        ("answers.dns64", { $0.answers.dns64 = Translation.none }),
    ]

    private let base: Configuration

    init() throws {
        base = try accepted(everyKey, environment: ["ALIYUN_HTTPDNS_SECRET": "s"]).configuration
    }

    @Test func `answers depend on these keys, and on no other`() {
        #expect(shaping.map(\.key).sorted() == Configuration.allKeys.filter(\.shapesAnswers).map(\.path).sorted())
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

    @Test func `keys that shape no answer leave every identity as it is`() throws {
        var changed = base
        (changed.providers[0].secret, changed.providers[0].timeout) = (Secret("another"), .seconds(2))
        (changed.listen.allow, changed.answers.prefer, changed.cache.memory) = ([], .ipv4, 1 << 20)
        (changed.preset.always, changed.accounts) = ([try preset()], [])
        #expect(changed.answerIdentity == base.answerIdentity)
        #expect(changed.providers[0].answerIdentity == base.providers[0].answerIdentity)
        #expect(changed.answers.answerIdentity == base.answers.answerIdentity)
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
                .contains("hunter2"))
    }
}

private func preset() throws -> PresetEntry {
    PresetEntry(name: try Name("www.example.com"), isWildcard: false, line: 1, addresses: [.v4(9)])
}
