import Configuration
import TestServers
import TestSupport
import Testing

@testable import httpdnsd

/// What `check` refuses because a server would not start with it on this machine.
struct ConfigurationSourceTests {
    /// The lines for a configuration with this `[listen]` table; none where it is good.
    private func problems(_ listen: String, isRunning: Bool = false) throws -> [String] {
        let directory = try TemporaryDirectory()
        let text = Patient.configuration.replacing("addresses = [\"127.0.0.1:53\"]", with: listen)
        let file = try directory.write(text, to: "httpdnsd.toml")
        do throws(ConfigurationRefusal) {
            _ = try ConfigurationSource(path: file, variables: Variables(process: [:]), listen: [])
                .check(isRunning: isRunning)
            return []
        } catch {
            return error.lines
        }
    }

    @Test func `a user that this machine does not have is refused`() throws {
        #expect(try problems("user = \"nobody\"") == [])
        let lines = try problems("user = \"nosuchuser\"")
        #expect(lines.count == 1 && lines[0].contains("nosuchuser") && lines[0].contains("listen.user"))
    }

    @Test(arguments: ["addresses", "tls", "https", "httpdns"])
    func `an interface that this machine does not have is refused in every list of addresses`(key: String) throws {
        let certificates = try TestCertificates()
        let leaf = try certificates.leaf(names: ["dns.example"])
        let files = "certificate = \"\(leaf.certificate)\"\nkey = \"\(leaf.key)\"\n"
        #expect(try problems("\(files)\(key) = [\"[fe80::1%lo]:5301\"]") == [])
        let lines = try problems("\(files)\(key) = [\"[fe80::1%nosuch0]:5301\"]")
        #expect(lines.count == 1 && lines[0].contains("nosuch0") && lines[0].contains("listen.\(key)"))
    }

    @Test func `a list of resolvers that is longer than is read is warned of`() throws {
        let directory = try TemporaryDirectory()
        let lines = String(repeating: "\n", count: 1_024)
        var settings = try Configuration.parse(text: Patient.configuration).configuration
        settings.localDNS.resolvConf = try directory.write(lines, to: "resolv.conf")
        #expect(settings.cutLists == [])
        try directory.write(lines + "nameserver 192.0.2.53\n", to: "resolv.conf")
        let warning =
            "\(settings.localDNS.resolvConf): is longer than 64 KiB or 1,024 lines, so only the whole lines before that count"
        #expect(settings.cutLists == [warning] && settings.remarks.contains(warning))
    }

    @Test func `a server that runs stays with its user and its addresses`() throws {
        #expect(
            try problems("user = \"nosuchuser\"\naddresses = [\"[fe80::1%nosuch0]:5301\"]", isRunning: true) == [])
    }
}
