import Configuration
import Testing

struct ErrorTests {
    @Test(arguments: [
        ("[listen]\ncertificate = \"/c\"", "listen.certificate: has no effect: neither tls nor https has an address"),
        ("[listen]\nhttps_path = \"/x\"", "listen.https_path: has no effect: https has no address"),
        ("[listen]\nhttp_names = [\"a.example\"]", "listen.http_names: has no effect: httpdns has no address"),
        ("[listen]\nname = \"a.example\"", "listen.name: has no effect: none of tls, https and httpdns has an address"),
        ("[control]\nsocket = \"\"\ngroup = \"a\"", "control.group: has no effect: control.socket is empty"),
        ("[policy]\ninterval = \"7m\"", "policy.interval: has no effect: there is no policy.url"),
        (
            "[cache.disk]\npath = \"\"\nflush_interval = \"7s\"",
            "cache.disk.flush_interval: has no effect: cache.disk.path is empty"
        ),
        (
            "[localdns]\ncertificate_check = \"off\"\nunverified = [\"a.example\"]",
            "localdns.unverified: has no effect: certificate_check is \"off\""
        ),
        (
            "[answers]\nprivate_names = [\"a.example\"]",
            "answers.private_names: has no effect: private_addresses is \"keep\""
        ),
    ])
    func `a key without the one beside which it counts has no effect, and a warning says so`(
        lines: String, warning: String
    ) throws {
        #expect(try accepted(minimal + lines).warnings.contains { "\($0)".hasSuffix(warning) })
    }

    @Test func `a bound of LocalDNS's TTLs below the cache's least time has no effect, and a warning says so`() throws {
        func warnings(_ minTTL: String) throws -> [String] {
            let provider = "[[provider]]\ntype = \"doh\"\nurl = \"https://192.0.2.1/dns-query\"\n"
            return try accepted(provider + "[localdns]\nmax_ttl = \"30s\"\n[cache]\nmin_ttl = \"\(minTTL)\"").warnings
                .map(\.description).filter { $0.contains("max_ttl") }
        }
        #expect(try warnings("31s").count == 1)
        #expect(try warnings("30s").isEmpty)
    }

    @Test func `a misspelt list of providers is not called missing as well`() {
        #expect(errors("[[providers]]\n") == ["t.toml:1: providers: unknown key; did you mean \"provider\"?"])
    }

    @Test func `all errors of a file are reported together, sorted by line`() {
        let text = """
            [log]
            level = "loud"
            [cache]
            memory = "64MB"
            [[provider]]
            type = "dho"
            [listen]
            udp_threads = "4"
            """
        #expect(
            errors(text) == [
                "t.toml:2: log.level: \"loud\" is not one of \"trace\", \"debug\", \"info\", \"notice\", \"warning\", "
                    + "\"error\", \"critical\"",
                "t.toml:4: cache.memory: \"64MB\" has an unknown unit; write B, KiB, MiB or GiB, as in \"64MiB\"",
                "t.toml:6: provider[1].type: \"dho\" is not one of \"aliyun\", \"aliyun-v2\", \"tencent\", "
                    + "\"tencent-https\", \"doh-json\", \"doh\"; did you mean \"doh\"?",
                "t.toml:8: listen.udp_threads: must be an integer without quotes, 0 to 256, not a string",
            ])
    }

    @Test(arguments: [
        ("timeout = \"5\"", "\"5\" has no unit; write ms, s, m, h or d, as in \"1.5s\""),
        ("timeout = \"5 s\"", "\"5 s\" has an unknown unit; write ms, s, m, h or d, as in \"1.5s\""),
        ("timeout = \"-1s\"", "\"-1s\" is not a duration; write one such as \"1.5s\""),
        ("timeout = \"1m\"", "\"1m\" is out of range; write 10ms to 2s"),
        ("timeout = 5", "must be a duration in quotes such as \"1.5s\", not an integer"),
        ("timeout = 1979-05-27", "must be a duration in quotes such as \"1.5s\", not a date or time"),
        ("daily_limit = -1", "-1 is out of range; write 0 or more"),
        ("daily_limit = 1.5", "must be an integer without quotes, 0 or more, not a number with decimals"),
        ("names = \"x\"", "must be a list in brackets, not a string"),
        ("addresses = [\"example.com\"]", "\"example.com\" is not an IP address with an optional port, such as "),
        ("addresses = [\"192.0.2.1:0\"]", "\"192.0.2.1:0\" is not an IP address with an optional port"),
        ("tls_names = [\"a b\"]", "\"a b\" is not a host name or IP address"),
        ("names = [\"*.x.y\"]", "\"*.x.y\" is not a name: no host's has a \"*\"; write \"x.y\""),
        ("names = ['\\042.x']", "is not a name: no host's has a"),
        ("names = [\"a..b\"]", "\"a..b\" is not a name: a label is empty"),
        ("names = [\"münchen.example\"]", "must be written in punycode"),
        ("pin = [\"sha256//AAAA\"]", "\"sha256//AAAA\" is not a pin; write sha256//"),
        ("client_subnet = \"client/33\"", "\"client/33\" is not \"off\", \"client/24\" or a network"),
        ("ca_file = \"ca.pem\"", "\"ca.pem\" must be an absolute path"),
        ("encryption = \"rot13\"", "\"rot13\" is not one of \"none\", \"cbc\", \"gcm\", \"des\", \"aes\""),
        ("name = \"a b\"", "\"a b\" must be up to 32 letters, digits, dots, - and _"),
        ("name = \"localdns\"", "must not be \"localdns\", which is taken by the program itself"),
    ])
    func `a bad value of a provider says what would be right`(line: String, message: String) throws {
        let all = errors(minimal + line + "\n")
        #expect(all.count == 1)
        let first = try #require(all.first)
        #expect(first.hasPrefix("t.toml:4: provider[1]."))
        #expect(first.contains(message), "\(first)")
    }

    @Test(arguments: [
        (
            "[listen]\naddresses = [\"localhost:53\"]",
            "listen.addresses[1]: \"localhost:53\" is not an address and port"
        ),
        ("[listen]\naddresses = [\"127.0.0.1\"]", "listen.addresses[1]: \"127.0.0.1\" is not an address and port"),
        (
            "[listen]\naddresses = [\"[fe80::1]:53\"]",
            "listen.addresses[1]: \"[fe80::1]:53\" needs the interface of its link, as in \"[fe80::1%eth0]\""
        ),
        (
            "[localdns]\nservers = [\"fe80::1\"]",
            "localdns.servers[1]: \"fe80::1\" needs the interface of its link, as in \"[fe80::1%eth0]\""
        ),
        (
            "[control]\nhttp = \"[::ffff:127.0.0.1]:80\"",
            "control.http: \"[::ffff:127.0.0.1]:80\" is an IPv4 address: write \"127.0.0.1:80\""
        ),
        ("[listen]\naddresses = [\"[ff02::fb]:5353\"]", "listen.addresses[1]: \"[ff02::fb]:5353\" is of many machines"),
        ("[listen]\naddresses = [\"255.255.255.255:53\"]", "\"255.255.255.255:53\" is of many machines"),
        (
            "[listen]\nallow = [\"::ffff:127.0.0.0/104\"]",
            "listen.allow[1]: \"::ffff:127.0.0.0/104\" has no clients: their addresses are IPv4; write \"127.0.0.0/8\""
        ),
        ("[listen]\naddresses = []", "listen.addresses: must hold at least one address"),
        (
            "[listen]\naddresses = [\"[::1]:53\", \"[0::1]:53\"]",
            "listen.addresses[2]: \"[::1]:53\" is listed twice"
        ),
        (
            "[listen]\naddresses = [\"127.0.0.1:53\", \"[::]:53\", \"0.0.0.0:53\"]",
            "listen.addresses[3]: \"0.0.0.0:53\" and \"127.0.0.1:53\" overlap"
        ),
        (
            "[listen]\naddresses = [\"0.0.0.0:8053\"]\n[control]\nhttp = \"127.0.0.1:8053\"",
            "control.http: \"127.0.0.1:8053\" and \"0.0.0.0:8053\" of listen overlap"
        ),
        (
            "[listen]\ntls = [\"192.0.2.1:53\"]\naddresses = [\"192.0.2.1:53\"]\ncertificate = \"/c\"\nkey = \"/k\"",
            "listen.tls[1]: \"192.0.2.1:53\" is listed twice"
        ),
        (
            "[listen]\ntls = [\"0.0.0.0:853\"]\nkey = \"/k\"",
            "listen.certificate"
        ),
        ("[listen]\nhttps_path = \"dns\"", "listen.https_path"),
        (
            "[[forward]]\nsuffix = [\"x\"]\nservers = [\"192.0.2.1\"]",
            "forward[1].suffix: unknown key; did you mean \"suffixes\"?"
        ),
        ("[listen]\nallow = [\"10.0.0.0/33\"]", "listen.allow[1]: \"10.0.0.0/33\" is not a network"),
        ("[cache]\nmemory = \"1KiB\"", "cache.memory: \"1KiB\" is out of range; write 1MiB to 1024GiB"),
        ("[cache]\nmin_ttl = \"2h\"\nmax_ttl = \"1h\"", "cache.min_ttl must not be above cache.max_ttl (1h)"),
        ("[cache]\nmin_ttl = \"1500ms\"", "cache.min_ttl: \"1500ms\" is out of range; write 0s to 7d in whole seconds"),
        ("[cache]\nprefetch = \"yes\"", "cache.prefetch: must be true or false without quotes, not a string"),
        ("[cache.stale]\nwait = \"2s\"", "cache.stale.wait: \"2s\" is out of range; write 0s to 1.8s"),
        ("[localdns]\nservers = \"dhcp\"", "localdns.servers: must be \"auto\" or a list in brackets"),
        ("[localdns]\nservers = []", "localdns.servers: must hold at least one server, or be \"auto\""),
        ("[localdns]\nservers = [\"127.0.0.1\"]", "localdns.servers[1]: \"127.0.0.1:53\" is this server itself"),
        (
            "[localdns]\nservers = [[\"192.0.2.1\"], \"192.0.2.2\"]",
            "localdns.servers[2]: must be a list of servers, as entry 1 is"
        ),
        (
            "[localdns]\nservers = [\"192.0.2.1\", \"192.0.2.2\", [\"192.0.2.3\"]]",
            "localdns.servers[1]: must be a list of servers, as entry 3 is"
        ),
        ("[localdns]\nservers = [[\"192.0.2.1\"], []]", "localdns.servers[2]: must hold at least one server"),
        ("[localdns]\nservers = [[\"192.0.2.1\"], [\"x\"]]", "localdns.servers[2][1]: \"x\" is not"),
        ("[localdns]\nservers = [[[\"192.0.2.1\"]]]", "localdns.servers[1][1]: must be"),
        (
            "[localdns]\nservers = [[\"192.0.2.1\"], [\"192.0.2.2\", \"127.0.0.1\"]]",
            "localdns.servers[2][2]: \"127.0.0.1:53\" is this server itself"
        ),
        ("[localdns]\ncertificate_ports = [0]", "localdns.certificate_ports[1]: 0 is out of range; write 1 to 65535"),
        ("[[forward]]\nservers = [\"192.0.2.53\"]", "forward[1].suffixes: must hold at least one entry"),
        ("[[forward]]\nsuffixes = [\"x\"]\n", "forward[1].servers: must hold at least one entry"),
        ("[forward]\nsuffixes = [\"x\"]\n", "forward: must be written [[forward]] with two brackets"),
        (
            "[[forward]]\nsuffixes=[\"x\"]\nservers=[\"192.0.2.1\"]\n[[forward]]\nsuffixes=[\"X.\"]\nservers=[\"192.0.2.1\"]",
            "forward[2].suffixes[1]: \"x\" is already in forward[1].suffixes"
        ),
        (
            "[preset.always]\nwww.example.com = [\"192.0.2.1\"]",
            "preset.always.www: is not a list of addresses; a name with dots must be quoted"
        ),
        (
            "[preset.always]\n\"a.b\" = [\"192.0.2.1\"]\n\"A.B\" = [\"192.0.2.2\"]",
            "preset.always.\"a.b\": \"a.b\" and \"A.B\" are one name: leave out one of them"
        ),
        ("[preset.always]\n\"x\" = [\"y\"]", "preset.always.x[1]: \"y\" is not an IP address"),
        ("[preset.always]\n\"a.*.x\" = [\"192.0.2.1\"]", "may have its * only at the start"),
        ("[preset.always]\n\"x\" = []", "preset.always.x: \"x\" must have at least one address"),
        ("[control]\nhttp = \"9090\"", "control.http: \"9090\" is not an address and port"),
        ("[log]\ndnstap = \"/run/tap.sock\"", "log.dnstap: \"/run/tap.sock\" is not a collector"),
        ("[log]\ndnstap = \"unix:tap.sock\"", "log.dnstap: \"unix:tap.sock\" is not a collector"),
        ("[log]\ndnstap = \"tcp:127.0.0.1\"", "log.dnstap: \"tcp:127.0.0.1\" is not a collector"),
        ("[control]\nmode = \"0777\"", "control.mode: \"0777\" is not one of \"0600\", \"0660\", \"0666\""),
        ("[control]\ngroup = \"a b\"", "control.group: \"a b\" must be up to 32 letters, digits, dots, - and _"),
        (
            "[control]\ngroup = \"staff\"\nmode = \"0600\"",
            "control.mode: \"0600\" keeps the group out; write \"0660\", or leave the key out"
        ),
        ("[control]\nmode = \"0660\"", "control.mode: \"0660\" lets a group in: name it in control.group"),
        ("[answers]\ndns64 = \"64:ff9b::\"", "answers.dns64: \"64:ff9b::\" is no prefix of a NAT64: it has 32, 40"),
        ("[answers]\ndns64 = \"64:ff9b::/95\"", "is no prefix of a NAT64"),
        ("[answers]\ndns64 = \"192.0.2.0/24\"", "is no prefix of a NAT64"),
        ("[answers]\ndns64 = \"::ffff:0:0/96\"", "is no prefix of a NAT64"),
        ("[answers]\ndns64 = \"on\"", "\"on\" is not \"auto\", \"off\" or a prefix such as"),
        ("[http]\nproxy = \"https://192.0.2.8:3128\"", "http.proxy: must begin with http://: to the proxy itself"),
        ("[http]\nproxy = \"http://proxy.example:3128\"", "http.proxy: must have an IP address: a name would have"),
        ("[http]\nproxy = \"http://192.0.2.8:3128/pac\"", "http.proxy: must end after the port"),
        ("[http]\nproxy = \"http://me:secret@192.0.2.8\"", "http.proxy: must not hold a user name or password: leave"),
        ("[listen]\nuser = \"\"\nusr = \"a\"", "t.toml:6: listen.usr: unknown key; did you mean \"user\"?"),
        ("[cahce]", "t.toml:4: cahce: unknown key; did you mean \"cache\"?"),
        ("[log]\nzzzzzz = 1", "log.zzzzzz: unknown key; known here: level, format, queries, dnstap"),
        ("cache = 5", "cache: must be a table, not an integer; write its keys below [cache]"),
    ])
    func `a bad value elsewhere says what would be right`(lines: String, message: String) throws {
        // Keys of the root must stand before the first table.
        let all = errors(lines.hasPrefix("cache =") ? lines + "\n" + minimal : minimal + lines)
        #expect(all.count == 1)
        #expect(try #require(all.first).contains(message), "\(all)")
    }

    @Test(arguments: [
        ("[log]\nlevel = info", "t.toml:2:9: this is not a number, true or false; text must stand in quotes"),
        ("[log]\nlevel =", "t.toml:2:8: the text ends too early: the value is missing"),
        ("[log]\nlevel = # info", "t.toml:2:9: the value is missing"),
        ("[log]\nlevel \"info\"", "t.toml:2:7: a key must be followed by = and its value"),
        ("[log]\nlevel = \"info", "t.toml:2:9: the string has no closing quote"),
        ("[log\nlevel = \"info\"", "t.toml:1:5: the table's name must end with ]"),
        ("[[provider]\n", "t.toml:1:12: the table's name must end with ]]"),
        ("[log]\nlevel = \"info\" format = \"text\"", "t.toml:2:16: nothing but a comment may follow on this line"),
        (
            "[route]\nprotect = [\"a\"\n\"b\"]",
            "t.toml:3:1: a comma or ] must come next in the brackets that open on line 2"
        ),
        (
            "[route]\nprotect = [\"a\",\n",
            "t.toml:3:1: the text ends too early: the brackets that open on line 2 have no ]"
        ),
        ("[é]", "t.toml:1:2: a key must consist of letters, digits, - and _, or stand in quotes"),
        ("a = \"\\d\"", "t.toml:1:7: a backslash must be written \\\\, or the string must stand in single quotes"),
        ("a = 1\na = 2", "t.toml:2:1: \"a\" is already on line 1; write it once, and all of it there"),
        ("[a]\n[b]\n[a]", "t.toml:3:2: \"a\" is already on line 1; write it once, and all of it there"),
        ("a = 01", "t.toml:1:5: this is not a number"),
        ("a = 1979-13-01", "t.toml:1:5: this is not a date or time; write one such as 1979-05-27T07:32:00Z"),
        ("a = { b = 1,\n}", "t.toml:1:13: a table in braces must end on its line"),
        ("a = 1 # \u{7}", "t.toml:1:9: a comment cannot hold control characters; leave this one out"),
        ("a = '\u{7}'", "t.toml:1:6: a control character must be written as \\u and four digits, in double quotes"),
    ])
    func `a syntax error says where and what`(text: String, message: String) throws {
        let all = errors(text)
        #expect(all.count == 1)
        #expect(try #require(all.first).hasPrefix(message), "\(all)")
    }

    @Test func `a number that TOML cannot take is not repeated, as it may be a secret`() throws {
        let all = errors("[[provider]]\nsecret = 98765432109876543210\n")
        #expect(all.count == 1)
        #expect(try #require(all.first).hasPrefix("t.toml:2:"))
        #expect(!all.joined().contains("9876"), "\(all)")
    }

    @Test func `a key with control characters stays on one line`() {
        #expect(errors(minimal + "\"a\\nb\" = 1\n").first?.contains("\n") == false)
    }

    @Test func `a mode that needs HTTPDNS is refused without a provider`() {
        #expect(
            errors("") == [
                "t.toml: route.mode: \"httpdns-first\" needs at least one [[provider]], and there is none; add one, or "
                    + "write mode = \"localdns-only\""
            ])
        #expect(errors("[route]\nmode = \"httpdns-only\"").first?.hasPrefix("t.toml:2: route.mode: ") == true)
    }

    @Test func `localdns-only needs no provider`() throws {
        #expect(try accepted("[route]\nmode = \"localdns-only\"").warnings.isEmpty)
    }
}
