import Admin
import Testing

@testable import httpdnsd

struct ProgramsCheckTests {
    private func keys(_ check: Check, _ files: [String: String]) throws -> [String]? {
        try Patient(files).keys(check)
    }

    @Test(arguments: [
        ("nameserver 127.0.0.1\n", []), ("", []), ("nameserver 192.0.2.53\n", ["resolver.elsewhere"]),
        ("nameserver 127.0.0.1\nnameserver 192.0.2.53\n", ["resolver.beside"]),
        ("nameserver ::1\n", ["resolver.elsewhere"]),
    ])
    func `resolv.conf must name this server and no other`(text: String, found: [String]) throws {
        #expect(try keys(.programs, ["etc/resolv.conf": text]) == found)
    }

    @Test func `systemd-resolved must ask this server where programs ask it`() throws {
        let files = ["etc/resolv.conf": "nameserver 127.0.0.53\n", "run/systemd/resolve/resolv.conf": ""]
        #expect(try keys(.programs, files) == ["resolver.elsewhere"])
        let ours = "# Written by `httpdnsd resolver on`, removed by `httpdnsd resolver off`\n[Resolve]\n"
        let path = "etc/systemd/resolved.conf.d/zz-httpdnsd.conf"
        let withDropIn = files.merging([path: ours + "DNS=127.0.0.1\n"]) { $1 }
        #expect(try keys(.programs, withDropIn) == [])
        let elsewhere = files.merging([path: ours + "DNS=127.0.0.1:5353\n"]) { $1 }
        #expect(try keys(.programs, elsewhere) == ["resolver.elsewhere"])
        let later = ["etc/systemd/resolved.conf.d/zzz.conf": "[Resolve]\nDNS=192.0.2.53\n"]
        #expect(try keys(.programs, withDropIn.merging(later) { $1 }) == ["resolver.beside"])
    }

    @Test(arguments: [
        ("search corp.example\noptions ndots:5\n", ["resolver.ndots"]), ("options ndots:5\n", []),
        ("search corp.example\noptions ndots:1\n", []), ("options timeout:1 attempts:2\n", ["resolver.timeout"]),
        ("options timeout:5\n", []), ("", []),
    ])
    func `options that surprise are found`(text: String, found: [String]) throws {
        #expect(try keys(.lookups, ["etc/resolv.conf": text]) == found)
    }

    @Test(arguments: [
        ("hosts: files dns\n", []), ("hosts: files\n", ["nsswitch.dns"]),
        ("a: b\r\nhosts: files\r\n", ["nsswitch.dns"]), ("hosts: files resolve # dns\n", []),
        ("passwd: files\n", []),
    ])
    func `nsswitch must look into DNS`(text: String, found: [String]) throws {
        #expect(try keys(.lookupOrder, ["etc/nsswitch.conf": text]) == found)
    }

    @Test func `nsswitch must not ask a systemd-resolved that does not ask this server`() throws {
        let files = [
            "etc/nsswitch.conf": "hosts: files resolve [!UNAVAIL=return] dns\n",
            "run/systemd/resolve/io.systemd.Resolve": "",
        ]
        #expect(try keys(.lookupOrder, files) == ["nsswitch.resolved"])
    }

    @Test func `a server that listens on another port than programs ask is not to be switched on`() throws {
        let configuration = Patient.configuration.replacing("127.0.0.1:53\"", with: "127.0.0.1:5353\"")
        let patient = try Patient(["etc/resolv.conf": "nameserver 192.0.2.53\n"], configuration)
        let finding = try #require(Check.programs.findings(patient.examination)?.first)
        #expect(finding.key == "resolver.elsewhere")
        #expect(
            finding.remedy
                == "listen.addresses with port 53, which programs ask alone; then `httpdnsd resolver on --config \(patient.examination.file)`"
        )
    }
}
