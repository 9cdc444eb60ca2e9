import DNSWire
import Foundation
import TestServers
import Testing
import Upstreams

@testable import Configuration
@testable import httpdnsd

/// What `httpdnsd profile` prints.
struct ProfileTests {
    private static let both = Profile(
        name: "dns.example.com", tls: 853, https: "https://dns.example.com/dns-query",
        addresses: ["192.0.2.53", "2001:db8::53"].compactMap { IPAddress($0) })

    private func content(_ profile: Profile, _ system: ProfileSystem) throws -> String {
        try profile.text(for: system, crypto: OpenSSLCrypto()).content
    }

    /// The settings inside a profile of iOS, and the profile around them.
    private func apple(_ profile: Profile) throws -> (settings: NSDictionary, profile: NSDictionary) {
        let list = try PropertyListSerialization.propertyList(
            from: Data(content(profile, .ios).utf8), options: [], format: nil)
        let outer = try #require(list as? NSDictionary)
        let contents = try #require(outer["PayloadContent"] as? NSArray)
        return (try #require(contents.firstObject as? NSDictionary), outer)
    }

    @Test func `iOS gets a property list with the server's name, and may switch it off`() throws {
        let (settings, profile) = try apple(Self.both)
        let dns = try #require(settings["DNSSettings"] as? NSDictionary)
        #expect(dns["DNSProtocol"] as? String == "TLS")
        #expect(dns["ServerName"] as? String == "dns.example.com")
        #expect(dns["ServerAddresses"] as? [String] == ["192.0.2.53", "2001:db8::53"])
        #expect(settings["PayloadType"] as? String == "com.apple.dnsSettings.managed")
        #expect(settings["ProhibitDisablement"] as? Bool == false)
        #expect(profile["PayloadType"] as? String == "Configuration")
        #expect(profile["PayloadVersion"] as? Int == 1)
    }

    @Test func `iOS gets the URL where TLS is not on its usual port`() throws {
        var profile = Self.both
        profile.tls = 8853
        let dns = try #require(try apple(profile).settings["DNSSettings"] as? NSDictionary)
        #expect(dns["DNSProtocol"] as? String == "HTTPS")
        #expect(dns["ServerURL"] as? String == "https://dns.example.com/dns-query")
        #expect(dns["ServerName"] == nil)
    }

    @Test func `in trusted networks their own DNS is used, with any name that they may have`() throws {
        var profile = Self.both
        profile.trustedSSIDs = ["Office & <Lab>"]
        let rules = try #require(try apple(profile).settings["OnDemandRules"] as? [NSDictionary])
        #expect(rules.map { $0["Action"] as? String } == ["Disconnect", "Connect"])
        #expect(rules[0]["SSIDMatch"] as? [String] == ["Office & <Lab>"])
    }

    @Test func `a profile made again replaces the one before, and no other server's`() throws {
        var other = Self.both
        other.name = "dns.example.net"
        let identifiers = try [Self.both, Self.both, other].map { profile in
            let made = try apple(profile)
            return [made.settings, made.profile].map { $0["PayloadUUID"] as? String }
        }
        #expect(identifiers[0] == identifiers[1])
        #expect(Set(identifiers[0] + identifiers[2]).count == 4)
        #expect(identifiers[0].allSatisfy { $0.flatMap { UUID(uuidString: $0) } != nil })
    }

    @Test(
        arguments: [
            (.android, "dns.example.com"),
            (
                .chrome,
                #"{"DnsOverHttpsMode":"secure","DnsOverHttpsTemplates":"https://dns.example.com/dns-query{?dns}"}"#
            ),
            (
                .firefox,
                #"{"policies":{"DNSOverHTTPS":{"Enabled":true,"ProviderURL":"https://dns.example.com/dns-query","Fallback":false,"Locked":false}}}"#
            ),
            (
                .linux,
                """
                [Resolve]
                DNS=192.0.2.53#dns.example.com 2001:db8::53#dns.example.com
                DNSOverTLS=yes
                Domains=~.
                """
            ),
        ] as [(ProfileSystem, String)]) func `others get what they read`(system: ProfileSystem, text: String) throws
    {
        #expect(try content(Self.both, system) == text)
    }

    @Test func `Windows gets a line for each address`() throws {
        let lines = try content(Self.both, .windows).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].contains("-ServerAddress '192.0.2.53'"))
        #expect(lines[0].contains("-DohTemplate 'https://dns.example.com/dns-query{?dns}'"))
        var profile = Self.both
        profile.https = "https://dns.example.com/it's"
        #expect(try content(profile, .windows).contains("-DohTemplate 'https://dns.example.com/it''s{?dns}' "))
    }

    @Test func `another port goes with each address of systemd-resolved`() throws {
        var profile = Self.both
        profile.tls = 8853
        #expect(try content(profile, .linux).contains("DNS=192.0.2.53:8853#dns.example.com [2001:db8::53]:8853#dns"))
    }

    @Test(
        arguments: [
            (Profile(name: "a.example", tls: 8853), .android), (Profile(name: "a.example", tls: 8853), .ios),
            (Profile(name: "a.example", tls: 853), .chrome), (Profile(name: "a.example", tls: 853), .firefox),
            (Profile(name: "a.example", tls: 853), .linux),
            (Profile(name: "a.example", https: "https://a.example/q"), .windows),
        ] as [(Profile, ProfileSystem)]) func `what a system cannot use is refused`(
            profile: Profile, system: ProfileSystem
        )
    {
        #expect(throws: CommandFailure.self) { try content(profile, system) }
    }

    @Test func `a configuration says how its server is reached`() throws {
        var listen = Configuration.Listen()
        #expect(Profile(listen, name: "dns.example.com") == nil)
        listen.tls = [try #require(AddressAndPort("0.0.0.0:853"))]
        listen.https = [try #require(AddressAndPort("192.0.2.53:8443"))]
        #expect(Profile(listen) == nil)
        listen.name = try Name("dns.example.com")
        #expect(
            Profile(listen)
                == Profile(
                    name: "dns.example.com", tls: 853, https: "https://dns.example.com:8443/dns-query",
                    addresses: [IPAddress.v4(0xc000_0235)]))
    }
}
