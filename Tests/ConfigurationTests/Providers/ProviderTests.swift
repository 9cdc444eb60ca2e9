import Configuration
import DNSWire
import Foundation
import HTTPDNS
import Testing

struct ProviderTests {
    /// A type's own service, as a provider without a URL has it.
    struct BuiltIn: Sendable {
        let lines: String
        let url: String
        /// The IPv4 ones.
        let addresses: [String]
        var count = 0
        let tlsNames: [String]
        var encryption: PayloadEncryption?
    }

    private static let aliyunNames = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"]
    private static let hexadecimalKey = "00112233445566778899aabbccddeeff"
    private static let aliyun = "type = \"aliyun\"\naccount = \"139450\"\n"
    private static let aliyunV2 = "type = \"aliyun-v2\"\naccount = \"139450\"\n"
    private static let tencent = "type = \"tencent\"\naccount = \"1\"\nencryption_key = \"0123456789abcdef\"\n"
    private static let china = [
        "203.107.1.1:443", "203.107.1.97:443", "203.107.1.100:443", "203.119.238.240:443", "106.11.25.239:443",
        "59.82.99.47:443",
    ]

    static let builtIn = [
        BuiltIn(lines: aliyun, url: "https://203.107.1.1", addresses: china, count: 10, tlsNames: aliyunNames),
        BuiltIn(
            lines: aliyun + "region = \"hk\"", url: "https://47.56.234.194",
            addresses: ["47.56.234.194:443", "47.56.119.115:443"], count: 4, tlsNames: aliyunNames),
        BuiltIn(
            lines: aliyun + "region = \"de\"", url: "https://47.89.80.182",
            addresses: ["47.89.80.182:443", "47.246.146.77:443"], count: 4, tlsNames: aliyunNames),
        BuiltIn(
            lines: aliyun + "url = \"http://203.107.1.1\"", url: "http://203.107.1.1",
            addresses: china.map { $0.replacing(":443", with: ":80") }, count: 10, tlsNames: []),
        // Over https a second encryption adds nothing, but a key that is written is used.
        BuiltIn(
            lines: aliyunV2, url: "https://203.107.1.1", addresses: china, count: 10, tlsNames: aliyunNames,
            encryption: .plain),
        BuiltIn(
            lines: aliyunV2 + "region = \"sg\"\nencryption_key = \"\(hexadecimalKey)\"", url: "https://161.117.200.122",
            addresses: ["161.117.200.122:443", "47.74.222.190:443"], count: 4, tlsNames: aliyunNames, encryption: .gcm),
        BuiltIn(
            lines: aliyunV2 + "region = \"us\"", url: "https://47.246.131.175",
            addresses: ["47.246.131.175:443", "47.246.131.141:443"], count: 4, tlsNames: aliyunNames,
            encryption: .plain),
        BuiltIn(
            lines: tencent, url: "http://119.29.29.98", addresses: ["119.29.29.98:80", "119.28.28.98:80"], count: 2,
            tlsNames: [], encryption: .aes),
        // Outside China it has DES alone.
        BuiltIn(
            lines: tencent + "region = \"intl\"", url: "http://43.132.55.55", addresses: ["43.132.55.55:80"], count: 1,
            tlsNames: [], encryption: .des),
        BuiltIn(
            lines: "type = \"tencent-https\"\nsecret = \"123456789\"", url: "https://119.29.29.99",
            addresses: ["119.29.29.99:443", "119.28.28.99:443"], count: 2, tlsNames: ["119.29.29.99", "119.28.28.99"]),
    ]

    @Test(arguments: builtIn)
    func `a type has its service built in, IPv6 last, and answers over https alone are authenticated`(
        service: BuiltIn
    ) throws {
        let entry = try provider(service.lines)
        #expect(entry.url.description == service.url)
        #expect(entry.addresses.prefix(service.addresses.count).map(\.description) == service.addresses)
        #expect(entry.addresses.count == service.count)
        #expect(entry.addresses.dropFirst(service.addresses.count).allSatisfy { $0.address.recordType == .aaaa })
        #expect(entry.tlsNames.map(\.description) == service.tlsNames)
        #expect(entry.encryption == service.encryption)
        #expect(entry.isAuthenticated == service.url.hasPrefix("https"))
    }

    @Test(
        arguments: [
            (aliyun + "url = \"http://127.0.0.1:8080/\"", ["127.0.0.1:8080"], []),
            (aliyun + "url = \"https://203.107.1.97\"", ["203.107.1.97:443"], aliyunNames),
            ("type = \"doh\"\nurl = \"https://[2001:db8::1]:8443/q\"", ["[2001:db8::1]:8443"], ["2001:db8::1"]),
            // Left to LocalDNS.
            ("type = \"doh\"\nurl = \"https://Dns.Example/q\"", [], ["dns.example"]),
            ("type = \"doh-json\"\nurl = \"https://8.8.8.8/resolve\"", ["8.8.8.8:443"], ["8.8.8.8"]),
            ("type = \"doh\"\nurl = \"http://dns.example/q\"\naddresses = [\"192.0.2.1\"]", ["192.0.2.1:80"], []),
            (
                "type = \"doh\"\nurl = \"https://dns.example:8443/q\"\n"
                    + "addresses = [\"192.0.2.1\", \"192.0.2.2:443\", \"2001:db8::1\", \"[2001:db8::2]:1\"]",
                ["192.0.2.1:8443", "192.0.2.2:443", "[2001:db8::1]:8443", "[2001:db8::2]:1"], ["dns.example"]
            ),
            (aliyunV2 + "url = \"https://dns.example:8443/base/\"", [], ["dns.example"]),
            (tencent + "url = \"https://dns.example:8443/base/\"", [], ["dns.example"]),
            ("type = \"tencent-https\"\nsecret = \"1\"\nurl = \"https://dns.example/base/\"", [], ["dns.example"]),
        ] as [(String, [String], [String])])
    func `a service is asked at the address of its URL, or at those that are written, and verified by its host`(
        lines: String, addresses: [String], tlsNames: [String]
    ) throws {
        let entry = try provider(lines)
        #expect(entry.addresses.map(\.description) == addresses)
        #expect(entry.tlsNames.map(\.description) == tlsNames)
        #expect(entry.isAuthenticated == lines.contains("https://"))
        #expect(["", "/base", "/q", "/resolve"].contains(entry.url.path))
    }

    private static let overHTTP = "type = \"aliyun-v2\"\naccount = \"1\"\nurl = \"http://203.107.1.1\"\n"
    private static let missing = "is missing: a provider of type"

    private static let mistakes: [(String, [String])] = [
        ("type = \"aliyun\"", ["1: provider[1].account: \(missing) aliyun needs the account's number"]),
        ("type = \"aliyun-v2\"", ["1: provider[1].account: \(missing) aliyun-v2 needs the account's number"]),
        (
            "type = \"tencent\"\nencryption_key = \"0123456789abcdef\"",
            ["1: provider[1].account: \(missing) tencent needs the account's ID"]
        ),
        (
            tencent + "region = \"intl\"\nencryption = \"aes\"",
            ["6: provider[1].encryption: must be one of \"des\" for a"]
        ),
        ("name = \"x\"", ["1: provider[1].type: is missing"]),
        ("type = \"doh\"", ["1: provider[1].url: \(missing) doh needs one, such as \"https://HOST/dns-query\""]),
        (
            "type = \"doh\"\nurl = \"https://192.0.2.1\"",
            ["3: provider[1].url: has no path; most services are at https://HOST/dns-query"]
        ),
        (
            "type = \"doh\"\nurl = \"http://dns.example/q\"",
            ["1: provider[1].addresses: is missing: an http URL with a host name"]
        ),
        (
            "type = \"doh-json\"",
            ["1: provider[1].url: \(missing) doh-json needs one, such as \"https://HOST/resolve\""]
        ),
        (
            "type = \"doh-json\"\nurl = \"https://192.0.2.1\"",
            ["3: provider[1].url: has no path; most services are at https://HOST/resolve"]
        ),
        (
            "type = \"tencent\"\naccount = \"1001\"",
            ["1: provider[1].encryption_key: \(missing) tencent needs the account's key"]
        ),
        ("type = \"tencent-https\"", ["1: provider[1].secret: \(missing) tencent-https needs the account's token"]),
        ("type = \"tencent-https\"\nsecret_file = \"/nonexistent/x\"", ["3: provider[1].secret_file: the file cannot"]),
        (
            "type = \"aliyun-v2\"\naccount = \"1\"\nsecret = \"hunter2\"",
            ["4: provider[1].secret: must be an even number of hexadecimal digits, as the console has it"]
        ),
        (
            "type = \"tencent-https\"\nsecret = \"1\"\nregion = \"intl\"",
            ["4: provider[1].region: must be \"cn\" for a provider of type tencent-https"]
        ),
        (
            "type = \"aliyun\"\naccount = \"1\"\nregion = \"intl\"",
            [
                "4: provider[1].region: must be one of \"cn\", \"hk\", \"sg\", \"de\", \"us\" for a provider of type aliyun"
            ]
        ),
        (
            "type = \"doh\"\nurl = \"https://a.example/q\"\nname = \"a\"\n" + minimal + "name = \"a\"",
            ["8: provider[2].name: \"a\" is already the name of provider[1]"]
        ),
    ]

    @Test(arguments: mistakes) func `what a provider lacks, or has wrong, is an error`(
        lines: String, problems: [String]
    ) {
        let all = errors("[[provider]]\n" + lines)
        #expect(all.count == problems.count)
        #expect(zip(all, problems).allSatisfy { $0.replacing("t.toml:", with: "").hasPrefix($1) }, "\(all)")
    }

    private static let plain = "type = \"doh\"\nurl = \"https://192.0.2.1/dns-query\"\n"

    private static let remarks: [(String, [String])] = [
        (
            "type = \"doh\"\nurl = \"http://192.0.2.1/q\"\nca_file = \"/ca.pem\"",
            ["ca_file: has no effect: the url is plain http"]
        ),
        (
            plain + "ca_file = \"/nowhere/ca.pem\"",
            ["ca_file: \"/nowhere/ca.pem\" cannot be read: No such file or directory; certificates are checked with it"]
        ),
        (
            plain + "ca_file = \"/dev/null\"",
            ["ca_file: \"/dev/null\" holds no certificate; certificates are checked with it"]
        ),
        (
            plain + "ca_file = \"/dev/zero\"",
            ["ca_file: \"/dev/zero\" is larger than 1 MiB; certificates are checked with it"]
        ),
        (plain + "account = \"1\"", ["account: has no effect: a provider of type doh has no account"]),
        (plain + "access_key_id = \"a\"", ["access_key_id: has no effect: only the type doh-json knows it"]),
        (plain + "region = \"hk\"", ["region: has no effect: a provider of type doh has no regions"]),
        (
            plain + "encryption = \"gcm\"\nencryption_key = \"x\"",
            [
                "encryption: has no effect: a provider of type doh encrypts nothing",
                "encryption_key: has no effect: a provider of type doh encrypts nothing",
            ]
        ),
        (
            overHTTP + "names = [\"a.example\"]\nencryption = \"none\"\nencryption_key = \"\(hexadecimalKey)\"",
            ["encryption_key: has no effect: encryption is \"none\""]
        ),
        (
            "type = \"tencent\"\naccount = \"1\"\nencryption_key = \"0123456789abcdef\"\nsecret = \"x\"\nnames = [\"a.example\"]",
            ["secret: has no effect: the key of type tencent is encryption_key"]
        ),
        (
            "type = \"tencent-https\"\nurl = \"http://192.0.2.1\"\nsecret = \"1\"\nnames = [\"a.example\"]",
            ["url: sends the account's token in clear"]
        ),
        (
            "type = \"aliyun\"\naccount = \"1\"\nurl = \"http://192.0.2.1\"\nnames = [\"a.example\"]\n"
                + "startup_addresses = [\"192.0.2.1\"]",
            ["startup_addresses: has no effect: over plain http"]
        ),
        (
            plain + "startup_addresses = [\"192.0.2.1\"]",
            ["startup_addresses: has no effect: a provider of type doh does not tell"]
        ),
        (
            String(aliDNS.dropFirst(13)) + "account = \"1\"\naccess_key_id = \"a\"\nsecret = \"s\"",
            ["every name is asked of \"doh-json\", which bills each question"]
        ),
    ]

    @Test(arguments: remarks)
    func `what has no effect, or an unwanted one, is warned about`(lines: String, warnings: [String]) throws {
        let all = try accepted("[[provider]]\n" + lines).warnings.map(\.description)
        #expect(all.count == warnings.count)
        #expect(zip(all, warnings).allSatisfy { $0.contains($1) }, "\(all)")
    }

    @Test func `the built-in service of aliyun is asked for its addresses, unless they are written`() throws {
        let lines = "type = \"aliyun\"\naccount = \"1\"\n"
        let entry = try provider(lines + "region = \"hk\"")
        #expect(entry.startupAddresses == entry.addresses)
        for more in [
            "addresses = [\"203.107.1.1\"]", "startup_addresses = []", "url = \"http://203.107.1.1\"",
            "url = \"http://192.0.2.1\"\nstartup_addresses = [\"192.0.2.1\"]",
        ] {
            #expect(try provider(lines + more).startupAddresses.isEmpty)
        }
        #expect(try provider("type = \"tencent-https\"\nsecret = \"1\"").startupAddresses.isEmpty)
    }

    @Test func `startup addresses have the port of the url, and are asked themselves where there are no others`() throws
    {
        let entry = try provider(
            "type = \"tencent-https\"\nsecret = \"1\"\nurl = \"https://dns.example:8443\"\n"
                + "startup_addresses = [\"192.0.2.1\", \"[2001:db8::1]:443\"]")
        #expect(entry.startupAddresses.map(\.description) == ["192.0.2.1:8443", "[2001:db8::1]:443"])
        #expect(entry.addresses == entry.startupAddresses)
    }

    @Test(arguments: [
        ("223.5.5.5/dns-query", "must begin with https:// or http://"),
        ("ftp://192.0.2.1/q", "must begin with https:// or http://"),
        ("https:///q", "has no valid host"),
        ("https://a_b.1.2/q", "has no valid host"),
        ("https://192.0.2.1:0/q", "has no valid port"),
        ("https://192.0.2.1:70000/q", "has no valid port"),
        ("https://2001:db8::1/q", "must have its IPv6 address in brackets"),
        ("https://[192.0.2.1]/q", "has something else than IPv6 in brackets"),
        ("https://dns.example/q{?dns}", "leave out {?dns}"),
        ("https://dns.example/q?a=b", "must end before the ? or #"),
        ("https://dns.example/a b", "must be percent-encoded"),
        ("https://me:hunter2@dns.example/q", "must not hold a user name or password"),
    ])
    func `a bad URL is refused with its reason, and never repeated`(url: String, message: String) {
        let all = errors("[[provider]]\ntype = \"doh\"\nurl = \"\(url)\"")
        #expect(all.count == 1 && all[0].hasPrefix("t.toml:3: provider[1].url: ") && all[0].contains(message), "\(all)")
        #expect(all.allSatisfy { !$0.contains(url) && !$0.contains("hunter2") })
    }

    @Test func `providers without a name are called by their type and a number`() throws {
        let loaded = try accepted(minimal + minimal + "name = \"doh-2\"\n" + minimal)
        #expect(loaded.configuration.providers.map(\.name) == ["doh", "doh-2", "doh-3"])
    }

    private static let aliDNS = "[[provider]]\ntype = \"doh-json\"\nurl = \"https://223.5.5.5/resolve\"\n"

    @Test func `an account at AliDNS has three parts`() throws {
        let loaded = try accepted(
            Self.aliDNS + "names = [\"example.com\"]\naccount = \"1\"\naccess_key_id = \"a\"\nsecret = \"s\"")
        #expect(loaded.warnings.isEmpty)
        let entry = try #require(loaded.configuration.providers.first)
        #expect([entry.account, entry.accessKeyID, entry.secret?.value] == ["1", "a", "s"])
    }

    @Test(arguments: [
        ("account = \"1\"", ["access_key_id", "secret"]), ("access_key_id = \"a\"", ["account", "secret"]),
        ("secret = \"s\"", ["account", "access_key_id"]), ("account = \"1\"\nsecret = \"s\"", ["access_key_id"]),
        ("access_key_id = \"a\"\nsecret = \"s\"", ["account"]),
        ("account = \"1\"\naccess_key_id = \"a\"\nsecret = \"${NONE:-}\"", ["secret"]),
    ])
    func `each part of AliDNS's account that is missing beside another is an error`(lines: String, missing: [String]) {
        let text = "[[provider]]\ntype = \"doh-json\"\nurl = \"http://192.0.2.1/resolve\"\n" + lines
        let all = errors(text)
        #expect(all.count == missing.count)
        for key in missing { #expect(all.contains { $0.contains("provider[1].\(key): is missing: AliDNS's account") }) }
    }

    @Test func `a part that is there but wrong is not reported as missing too`() {
        let parts = "account = \"1\"\naccess_key_id = \"a\"\n"
        #expect(errors(Self.aliDNS + parts + "secret = 1").count == 1)
        #expect(errors(Self.aliDNS + parts + "secrt = \"s\"").count == 1)
        #expect(errors(Self.aliDNS + parts + "secret_file = \"/nonexistent/x\"").count == 1)
    }

    @Test(arguments: [
        "https://223.5.5.5/resolve", "http://223.6.6.6/resolve", "https://dns.alidns.com/resolve",
        "https://[2400:3200::1]/resolve",
    ])
    func `AliDNS without an account is warned about`(url: String) throws {
        let loaded = try accepted("[[provider]]\ntype = \"doh-json\"\nurl = \"\(url)\"")
        #expect(
            loaded.warnings.map(\.description) == [
                "t.toml:3: provider[1].url: AliDNS may refuse requests without an account: write account, access_key_id and secret, or use type doh"
            ])
    }

    @Test(arguments: [
        ("type = \"aliyun\"\naccount = \"1\"", 5),
        ("type = \"aliyun\"\naccount = \"1\"\nurl = \"http://192.0.2.1\"", 1),
        (
            "type = \"aliyun-v2\"\naccount = \"1\"\nsecret = \"00\"\nencryption_key = \"00112233445566778899aabbccddeeff\"",
            8
        ),
        ("type = \"doh\"\nurl = \"https://192.0.2.1/dns-query\"", 0),
        ("type = \"tencent\"\naccount = \"1\"\nencryption_key = \"0123456789abcdef\"", 1),
    ])
    func `an answer is billed as its vendor counts it`(lines: String, units: Int) throws {
        #expect(try provider(lines).unitsOfAnswer == units)
    }

    @Test func `no cipher authenticates aliyun-v2 over plain http, for a response can be replayed`() throws {
        let key = "encryption_key = \"\(Self.hexadecimalKey)\"\n"
        for encryption in ["none", "cbc", "gcm"] {
            #expect(try !provider(Self.overHTTP + key + "encryption = \"\(encryption)\"").isAuthenticated)
        }
        #expect(try provider(Self.overHTTP + key).encryption == .gcm)
    }

    @Test(arguments: ["", "encryption = \"gcm\"", "encryption = \"cbc\"", "encryption_key = \"${NONE:-}\""])
    func `aliyun-v2 without the key of its cipher is an error that says what else to write`(line: String) {
        let all = errors("[[provider]]\n" + Self.overHTTP + line)
        #expect(all.count == 1)
        #expect(
            all.first?.contains(
                "provider[1].encryption_key: is missing: a provider of type aliyun-v2 needs the account's key for encryption"
            )
                == true)
        #expect(all.first?.hasSuffix("(or write encryption = \"none\")") == true)
    }

    @Test(arguments: [
        ("aliyun-v2", "gcm", "0011", "must be 32 hexadecimal digits for encryption \"gcm\""),
        (
            "aliyun-v2", "cbc", "00112233445566778899aabbccddeefg",
            "must be 32 hexadecimal digits for encryption \"cbc\""
        ),
        ("tencent", "des", "hunter2", "must have at least 8 characters for encryption \"des\""),
        ("tencent", "aes", "0123456789abcde", "must have exactly 16 characters for encryption \"aes\""),
        ("tencent", "aes", "0123456789abcdef0", "must have exactly 16 characters for encryption \"aes\""),
    ])
    func `a key that does not fit its cipher is refused and never repeated`(
        type: String, encryption: String, key: String, message: String
    ) {
        let all = errors(
            "[[provider]]\ntype = \"\(type)\"\naccount = \"1\"\nencryption = \"\(encryption)\"\nencryption_key = \"\(key)\""
        )
        #expect(all == ["t.toml:5: provider[1].encryption_key: \(message)"])
    }

    @Test(arguments: [
        ("aliyun-v2", "des", "\"none\", \"cbc\", \"gcm\""), ("aliyun-v2", "aes", "\"none\", \"cbc\", \"gcm\""),
        ("tencent", "gcm", "\"des\", \"aes\""), ("tencent", "none", "\"des\", \"aes\""),
    ])
    func `a cipher that the type has not is refused`(type: String, encryption: String, choices: String) {
        let all = errors(
            "[[provider]]\ntype = \"\(type)\"\naccount = \"1\"\nencryption = \"\(encryption)\"\nencryption_key = \"0123456789abcdef\""
        )
        #expect(all == ["t.toml:4: provider[1].encryption: must be one of \(choices) for a provider of type \(type)"])
    }

    @Test func `providers may be written inline`() throws {
        let loaded = try accepted("provider = [{ type = \"doh\", url = \"https://192.0.2.1/q\" }]")
        #expect(loaded.configuration.providers.count == 1)
        #expect(errors("provider = [\n {},\n { typ = 1 } ]").contains { $0.hasPrefix("t.toml:3: provider[2].typ:") })
    }
}

struct SecretTests {
    static let aliyun = "type = \"aliyun\"\naccount = \"1\"\nnames = [\"example.com\"]\n"

    @Test func `a secret comes out by asking only`() throws {
        let entry = try provider(Self.aliyun + "secret = \"hunter2\"")
        #expect(entry.secret?.value == "hunter2")
        var dumped = ""
        dump(entry, to: &dumped)
        #expect(!dumped.contains("hunter2"))
        #expect(!"\(entry)".contains("hunter2"))
        #expect(!String(reflecting: entry).contains("hunter2"))
    }

    @Test(arguments: [
        ("secret = 987654", "5: provider[1].secret: must be a string in quotes, not an integer"),
        (
            "secret_file = \"/nonexistent/x\"",
            "5: provider[1].secret_file: the file cannot be read: No such file or directory"
        ), ("secret_file = \"/dev/null\"", "5: provider[1].secret_file: the file is empty"),
        (
            "secret = \"x\"\nsecret_file = \"/dev/null\"",
            "6: provider[1].secret_file: must not be written together with secret: leave out one of them"
        ),
    ]) func `a secret that cannot be had is an error that does not repeat it`(lines: String, problem: String) {
        #expect(errors("[[provider]]\n" + Self.aliyun + lines) == ["t.toml:" + problem])
    }

    @Test(arguments: ["hunter2", "hunter2\n", "hunter2\r\n"])
    func `a secret file is read without its last line end`(content: String) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try content.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let entry = try provider(Self.aliyun + "secret_file = \"${FILE}\"", environment: ["FILE": path])
        #expect(entry.secret?.value == "hunter2")
    }

    @Test func `an empty secret means none`() throws {
        #expect(try provider(Self.aliyun + "secret = \"\"").secret == nil)
    }
}
