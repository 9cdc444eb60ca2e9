@testable import Configuration
import DNSWire
import Foundation
import HTTPDNS
import Testing

struct WholeFileTests {
    @Test func `a file with every key loads into its types, with a warning about what costs money`() throws {
        let loaded = try accepted(everyKey, environment: ["ALIYUN_HTTPDNS_SECRET": "s"])
        #expect(loaded.warnings.count == 1)
        let warning = try #require(loaded.warnings.first).message
        #expect(warning.contains("every name is asked of \"aliyun\", which bills each question"))
        let configuration = loaded.configuration
        let entry = try #require(configuration.providers.first)
        #expect(entry.type == .aliyun)
        #expect(entry.account == "139450")
        #expect(entry.secret?.value == "s")
        #expect(entry.addresses.map(\.description) == ["203.107.1.1:443", "203.107.1.97:443"])
        #expect(entry.timeout == .seconds(1))
        #expect(configuration.route.bypass == [try Name("local.lan")])
        #expect(configuration.forwards.first?.suffixes == [try Name("cluster.local")])
        #expect(configuration.forwards.first?.servers.map(\.description) == ["10.96.0.10:53"])
        #expect(configuration.localDNS.timeout == .milliseconds(1500))
    }

    @Test func `the names of the network are the built-in list or one's own, which may be empty`() throws {
        func read(_ value: String) throws -> NameList? {
            try accepted(
                "[[provider]]\ntype = \"doh\"\nname = \"d\"\nurl = \"https://192.0.2.1/q\"\n[route]\nnetwork_names = \(value)"
            )
            .configuration.route.networkNames
        }
        #expect(try read("\"auto\"") == nil)
        #expect(try read("[]") == [])
        #expect(try read("[\"LAN\"]") == [try Name("lan")])
    }

    @Test func `a file that writes the defaults is the same as none`() throws {
        var loaded = try accepted(everyKey, environment: ["ALIYUN_HTTPDNS_SECRET": "s"]).configuration
        loaded.providers = []
        loaded.accounts = []
        loaded.forwards = []
        loaded.route.bypass = []
        // Paths of files have an effect only with an address.
        loaded.listen.httpdns = []
        (loaded.listen.tls, loaded.listen.https, loaded.listen.certificate, loaded.listen.key) = ([], [], "", "")
        #expect(loaded == Configuration())
    }

    @Test(arguments: [
        ("httpdnsd.toml", ["127.0.0.1:53", "[::1]:53"], "/var/lib/httpdnsd/cache.sqlite"),
        ("try.toml", ["127.0.0.1:5353"], ""),
    ])
    func `the files that come with the program load without a warning`(
        file: String, listen: [String], cache: String
    ) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "conf/\(file)").path
        let loaded = try Configuration.load(path: path, Variables(process: [:]))
        #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
        #expect(loaded.configuration.listen.addresses.map(\.description) == listen)
        #expect(loaded.configuration.cache.disk.path == cache)
        #expect(
            loaded.configuration.providers.map(\.url.description) == [
                "https://223.5.5.5/dns-query", "https://1.12.12.12/dns-query", "https://1.1.1.1/dns-query",
                "https://8.8.8.8/dns-query",
            ])
        #expect(loaded.configuration.providers.allSatisfy { $0.isAuthenticated })
    }
}

struct WarningTests {
    @Test func `a default that is written out is no reason to warn`() throws {
        #expect(try accepted(minimal + "daily_limit = 0\n[answers]\nprefer = \"both\"").warnings.isEmpty)
    }

    @Test func `a suffix in two lists is reported with the list that wins`() throws {
        let text = """
            [route]
            protect = ["a.example", "b.example"]
            bypass = ["A.example", "c.example"]
            [[forward]]
            suffixes = ["c.example"]
            servers = ["192.0.2.53"]

            """
        #expect(
            try accepted(text + minimal).warnings.map(\.description) == [
                "t.toml:2: route.protect[1]: \"a.example\" has no effect: it is also in route.bypass, which wins",
                "t.toml:3: route.bypass[2]: \"c.example\" has no effect: it is also in forward[1].suffixes, which wins",
            ])
    }

    @Test func `an entry of protect that is in no provider's names is warned about`() throws {
        let text = """
            [route]
            protect = ["a.example", "www.b.example", "example.net"]
            [[provider]]
            type = "aliyun"
            account = "139450"
            secret = "0123456789abcdef0123456789abcdef"
            names = ["www.a.example", "b.example"]

            """
        #expect(
            try accepted(text).warnings.map(\.description).filter { $0.contains("protect") } == [
                "t.toml:2: route.protect[3]: \"example.net\" is not protected: it is in no provider's names, and LocalDNS"
                    + " answers it"
            ])
    }

    @Test func `a longer suffix in another list is no reason to warn`() throws {
        let text = "[route]\nprotect = [\"example\"]\nbypass = [\"a.example\"]\n"
        #expect(try accepted(text + minimal).warnings.isEmpty)
    }

    @Test func `a metered provider without names is warned about unless protect says which`() throws {
        let aliyun = "[[provider]]\ntype = \"aliyun\"\naccount = \"1\"\n"
        #expect(try accepted(aliyun).warnings.map(\.line) == [1])
        #expect(try accepted(aliyun + "names = [\"example.com\"]").warnings.isEmpty)
        #expect(try accepted(aliyun + "[route]\nprotect = [\"example.com\"]").warnings.isEmpty)
    }

    @Test func `a server that is open to all is warned about, one for this machine is not`() throws {
        func warnings(_ listen: String, allow: String) throws -> [String] {
            try accepted("[listen]\naddresses = [\"\(listen)\"]\nallow = [\"\(allow)\"]\n" + minimal).warnings.map(
                \.message)
        }
        #expect(
            try warnings("0.0.0.0:53", allow: "0.0.0.0/0") == [
                "\"0.0.0.0/0\" answers everyone that reaches \"0.0.0.0:53\": strangers can have others flooded with"
                    + " replies; list the networks of your clients"
            ])
        #expect(try warnings("[::]:53", allow: "::/0").count == 1)
        #expect(try warnings("127.0.0.1:53", allow: "0.0.0.0/0").isEmpty)
        #expect(try warnings("0.0.0.0:53", allow: "10.0.0.0/8").isEmpty)
    }

    private static let lost = "does not outlast a restart, because"
    private static let notWritten = "is not written: its folder"

    @Test(arguments: [
        ("/run/httpdnsd/c", "\(lost) /run is"), ("/var/run/a/c", "\(lost) /var/run is"), ("/tmp/c", "\(lost) /tmp is"),
        ("/dev/shm/a/c", "\(lost) /dev/shm is"), ("/etc/httpdnsd/c", "\(notWritten) /etc/httpdnsd is"),
        ("/var/lib/c", "\(notWritten) /var/lib is"), ("/c", "\(notWritten) / is"), ("/var/lib/httpdnsd/c", nil),
        ("/var/tmp/c", nil), ("/runner/c", nil), ("/tmpfiles/c", nil), ("", nil),
    ])
    func `a cache file that a restart removes, or that is not written, is warned about`(path: String, warning: String?)
        throws
    {
        let warnings = try accepted(minimal + "[cache.disk]\npath = \"\(path)\"\n").warnings.map(\.message)
        #expect(warnings.count == (warning == nil ? 0 : 1))
        #expect(warnings.allSatisfy { $0.hasPrefix("\"\(path)\" \(warning ?? "")") }, "\(warnings)")
    }

    @Test(arguments: [
        ("/run/httpdnsd.sock", true), ("/tmp/c.sock", true), ("/run/httpdnsd/c.sock", false), ("/opt/a/c.sock", false),
    ])
    func `a control socket in a folder of the system is warned about`(path: String, isWarned: Bool) throws {
        let warnings = try accepted(minimal + "[control]\nsocket = \"\(path)\"\n").warnings.map(\.description)
        #expect(warnings.count == (isWarned ? 1 : 0))
        #expect(warnings.allSatisfy { $0.contains("control.socket: \"\(path)\" stays when the server ends") })
    }

    @Test func `a wildcard listener is itself for a loopback server`() {
        let text = "[listen]\naddresses = [\"0.0.0.0:53\"]\n[localdns]\nservers = [\"127.0.0.53\"]\n"
        #expect(errors(minimal + text).first?.contains("\"127.0.0.53:53\" is this server itself") == true)
    }
}
