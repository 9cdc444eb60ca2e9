import Configuration
import DNSWire
import HTTPDNS
import Testing

struct VariableTests {
    private func user(_ text: String, _ environment: [String: String] = [:]) throws -> String {
        try accepted(minimal + "[listen]\nuser = \"\(text)\"\n", environment: environment).configuration.listen.user
    }

    private func failure(_ text: String, _ environment: [String: String] = [:]) -> String? {
        errors(minimal + "[listen]\nuser = \"\(text)\"\n", environment: environment).first
    }

    @Test func `a variable is put in anywhere in a string`() throws {
        #expect(try user("a${X}b${Y_1}", ["X": "1", "Y_1": "2"]) == "a1b2")
    }

    @Test func `a default stands in for a variable that is not set or empty`() throws {
        #expect(try user("${X:-nobody}") == "nobody")
        #expect(try user("${X:-nobody}", ["X": ""]) == "nobody")
        #expect(try user("${X:-nobody}", ["X": "me"]) == "me")
        #expect(try user("${X:-}") == "")
    }

    @Test func `a variable that is empty leaves an optional value out`() throws {
        #expect(try accepted(minimal + "[http]\nproxy = \"${X:-}\"").configuration.http.proxy == nil)
    }

    @Test func `a value that is an empty variable alone counts as not written`() throws {
        let text = """
            type = "${TYPE}"
            account = "139450"
            url = "${URL:-}"
            tls_names = ["${NAMES:-}"]
            """
        let entry = try provider(text, environment: ["TYPE": "aliyun"])
        #expect(entry.url.description == "https://203.107.1.1")
        #expect(entry.tlsNames.count == 2)
        let doh = try accepted(
            "[[provider]]\n" + text.replacing("\"139450\"", with: "\"${ACCOUNT:-}\""),
            environment: ["TYPE": "doh", "URL": "https://192.0.2.1/dns-query"])
        #expect(doh.warnings.isEmpty)
    }

    @Test func `a variable alone in a list has values separated by commas`() throws {
        let lists = "[listen]\nallow = [\"${ALLOW}\", \"10.0.0.0/8\"]\n[route]\nbypass = [\"a.lan\", \"${BYPASS:-}\"]"
        let loaded = try accepted(minimal + lists, environment: ["ALLOW": "127.0.0.0/8, ::1/128,"]).configuration
        #expect(loaded.listen.allow.map(\.description) == ["127.0.0.0/8", "::1/128", "10.0.0.0/8"])
        #expect(loaded.route.bypass.map(\.description) == ["a.lan"])
    }

    @Test func `of a bad value behind a variable's list its own line is shown`() {
        let list = "[route]\nprotect = [\n\"${A}\",\n\"ok.example\",\n\"bad name\"\n]\n"
        #expect(
            errors(list + minimal, environment: ["A": "a.example,b.example,c.example"]).map { $0.prefix(26) }
                == ["t.toml:5: route.protect[5]:"].map { $0.prefix(26) })
    }

    @Test func `of a bad value in a variable's list its number is shown, not its text`() {
        let all = errors(minimal + "[listen]\nallow = [\"${X}\"]", environment: ["X": "127.0.0.0/8,hunter2"])
        #expect(all.count == 1)
        #expect(all.first?.contains("listen.allow[2]: \"${X}\"") == true)
        #expect(all.first?.contains("hunter2") == false)
    }

    @Test func `an entry of tables with only empty variables is left out`() throws {
        let second = "[[provider]]\ntype = \"${TYPE_2:-}\"\nurl = \"${URL_2:-}\"\nnames = [\"${NAMES_2:-}\"]\n"
        #expect(try accepted(minimal + second).configuration.providers.count == 1)
        let environment = ["TYPE_2": "doh", "URL_2": "https://192.0.2.2/dns-query"]
        #expect(try accepted(minimal + second, environment: environment).configuration.providers.count == 2)
        #expect(
            errors(minimal + second, environment: ["URL_2": "https://192.0.2.2/dns-query"])
                == [
                    "t.toml:5: provider[2].type: is missing; write one of aliyun, aliyun-v2, tencent, tencent-https, doh-json, doh"
                ])
        #expect(
            errors(second) == [
                "t.toml: there is no provider to ask: set the environment variable TYPE_2 to its type, such as aliyun, tencent or doh, and what that needs: URL_2"
            ])
        #expect(
            errors(second + minimal).first?.contains("provider[1]: has only empty variables, while provider[2]") == true
        )
        #expect(errors(second.replacing("names", with: "nmes")).contains { $0.contains("nmes") })
    }

    @Test func `a missing variable without default names key and line`() {
        #expect(
            failure("${NAME}")
                == "t.toml:5: listen.user: needs the environment variable NAME, which is not set; set it (for the service in /etc/httpdnsd/environment, then `systemctl restart httpdnsd`), or write "
                + "${NAME:-default}")
    }

    @Test func `two dollars write a dollar and brace`() {
        #expect(failure("$${X}")?.contains("\"$${X}\" must be up to 32 letters") == true)
    }

    @Test func `a dollar alone is itself`() throws {
        let entry = try provider(SecretTests.aliyun + "secret = \"a$b$$c$\"")
        #expect(entry.secret?.value == "a$b$$c$")
        #expect(try provider(SecretTests.aliyun + "secret = \"$${X}\"").secret?.value == "${X}")
    }

    @Test func `braces without end or name are refused`() {
        #expect(failure("${X")?.contains("has a ${ without its }") == true)
        #expect(failure("${}")?.contains("has something else than a variable's name") == true)
        #expect(failure("${1X}")?.contains("has something else than a variable's name") == true)
    }

    @Test func `the value of a variable is never shown`() {
        let all = errors(minimal + "timeout = \"${X}\"", environment: ["X": "hunter2"])
        #expect(all == ["t.toml:4: provider[1].timeout: \"${X}\" is not a duration; write one such as \"1.5s\""])
    }

    @Test func `what a variable holds is not read as a variable again`() throws {
        #expect(
            try provider(SecretTests.aliyun + "secret = \"${X}\"", environment: ["X": "${Y}"]).secret?.value
                == "${Y}")
    }

    @Test func `a variable alone stands for an integer or a boolean too`() throws {
        let text = minimal + "daily_limit = \"${LIMIT:-}\"\nhedge = \"${HEDGE:-}\""
        let entry = try #require(try accepted(text).configuration.providers.first)
        #expect(entry.dailyLimit == 0 && entry.hedge)
        let environment = ["LIMIT": "100000", "HEDGE": "false"]
        let filled = try #require(try accepted(text, environment: environment).configuration.providers.first)
        #expect(filled.dailyLimit == 100_000 && !filled.hedge)
    }

    @Test func `a variable alone in a list of integers has several, separated by commas`() throws {
        let text = minimal + "[localdns]\ncertificate_ports = [443, \"${PORTS}\"]\n"
        let loaded = try accepted(text, environment: ["PORTS": "8443, 9443"])
        #expect(loaded.configuration.localDNS.certificatePorts == [443, 8_443, 9_443])
        let all = errors(text, environment: ["PORTS": "8443,hunter2"])
        #expect(all.count == 1 && all.first?.contains("certificate_ports[3]") == true)
        #expect(all.first?.contains("\"${PORTS}\"") == true && all.first?.contains("hunter2") == false)
    }

    @Test func `of a bad item of a list that a variable alone sets no line is named, for it has none`() {
        let environment = ["HTTPDNSD_LOCALDNS_CERTIFICATE_PORTS": "443,many"]
        let all = errors(Self.claiming, environment: environment)
        #expect(all.count == 1 && all.first?.hasPrefix("t.toml: localdns.certificate_ports[2]: ") == true, "\(all)")
    }

    @Test(arguments: ["hunter2", "-4711"])
    func `what a variable holds in place of an integer is not shown`(value: String) {
        let all = errors(minimal + "daily_limit = \"${LIMIT}\"", environment: ["LIMIT": value])
        #expect(all.count == 1 && all.first?.contains("\"${LIMIT}\"") == true && all.first?.contains(value) == false)
    }

    @Test func `a number in quotes is still no number`() {
        #expect(errors(minimal + "daily_limit = \"5\"").first?.contains("not a string") == true)
    }

    // MARK: Variables that the file does not read

    private static let claiming = minimal + "[log]\nlevel = \"${HTTPDNSD_LOG_LEVEL:-}\"\n"

    @Test func `a misspelt variable of the prefix is an error that names the nearest`() {
        #expect(
            errors(Self.claiming, environment: ["HTTPDNSD_LOGLEVEL": "secret"]) == [
                "t.toml: the environment variable HTTPDNSD_LOGLEVEL is set, but not read by this file; did you mean "
                    + "HTTPDNSD_LOG_LEVEL?"
            ])
    }

    @Test func `a file that reads none of the prefix does not mind any`() throws {
        #expect(try accepted(minimal, environment: ["HTTPDNSD_TESTS": "1"]).warnings.isEmpty)
        let comment = minimal + "# ${HTTPDNSD_LOG_LEVEL:-}\n[listen]\nuser = \"$${HTTPDNSD_USER}\"\n"
        #expect(errors(comment, environment: ["HTTPDNSD_TESTS": "1"]).allSatisfy { !$0.contains("HTTPDNSD_TESTS") })
    }

    @Test func `variables that are empty, of another prefix, or no names do not matter`() throws {
        let others = ["HTTPDNSD_LOGLEVEL": "", "HTTPDNS_ACCOUNT": "1", "PATH": "/bin", "HTTPDNSD_A\nB": "1"]
        #expect(try accepted(Self.claiming, environment: others).warnings.isEmpty)
    }

    @Test(arguments: [
        "SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_DNS_TCP", "PORT", "PORT_53_UDP", "PORT_53_UDP_ADDR",
        "PORT_53_UDP_PROTO", "CENTRAL_SERVICE_HOST", "CENTRAL_PORT_53_TCP",
    ])
    func `what Kubernetes sets beside a Service of the name does not matter`(ending: String) throws {
        let loaded = try accepted(Self.claiming, environment: ["HTTPDNSD_\(ending)": "tcp://10.96.0.53:53"])
        #expect(loaded.warnings.isEmpty)
    }
}
