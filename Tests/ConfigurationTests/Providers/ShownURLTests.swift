import Configuration
import Testing

/// A provider's URL as people see it.
struct ShownURLTests {
    @Test(arguments: [
        ("https://dns.example/dns-query/account-secret", "https://dns.example/…"),
        ("https://dns.example/account-secret", "https://dns.example/…"),
        ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443/…"),
        ("https://dns.example/dns-query", "https://dns.example/dns-query"),
        ("https://dns.example/resolve", "https://dns.example/resolve"), ("http://192.0.2.1", "http://192.0.2.1"),
        ("http://192.0.2.1/", "http://192.0.2.1/"),
    ])
    func `its path is shown only where every account has the same`(url: String, shown: String) throws {
        #expect(try ProviderURL(url).shown == shown)
    }
}
