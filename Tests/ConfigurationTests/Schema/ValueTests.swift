@testable import Configuration
import Testing

struct ValueTests {
    @Test(arguments: [
        ("1.5s", Duration.milliseconds(1500)), ("200ms", .milliseconds(200)), ("1d", .seconds(86_400)),
        ("2h", .seconds(7200)), ("10m", .seconds(600)), ("0s", .zero), ("0.5ms", .microseconds(500)),
    ])
    func `durations are read`(text: String, duration: Duration) throws {
        #expect(try Duration(written: text) == duration)
    }

    @Test(arguments: [
        "", "s", "1", ".5s", "1.s", "1..5s", "1.5.5s", "+1s", "1e3s", "1S", "9999999999999s", "999999999999d",
    ])
    func `what is no duration is refused`(text: String) {
        #expect(throws: ValueProblem.self) { try Duration(written: text) }
    }

    @Test(arguments: ["0s", "1ms", "200ms", "1.5s", "1.8s", "30s", "1.001s", "1m", "90s", "1h", "1d", "7d"])
    func `durations are written as they were read`(text: String) throws {
        #expect(try Duration(written: text).written == text)
    }

    @Test(arguments: [("64MiB", 64 << 20), ("512KiB", 512 << 10), ("1GiB", 1 << 30), ("1.5KiB", 1536), ("7B", 7)])
    func `sizes are read`(text: String, bytes: Int) throws {
        #expect(try Quantity.size.read(text) == bytes)
    }

    @Test(arguments: ["", "1", "1MB", "1mib", "-1B", "1.5B", "999999999999GiB"])
    func `what is no size is refused`(text: String) {
        #expect(throws: ValueProblem.self) { try Quantity.size.read(text) }
    }

    @Test(arguments: [
        "https://dns.example", "http://192.0.2.1:8080/a/b", "https://[2001:db8::1]/dns-query", "https://a-b.c/%20~",
    ])
    func `URLs are read and written`(text: String) throws {
        #expect(try ProviderURL(text).description == text)
    }

    @Test func `a URL's own port goes without saying`() throws {
        #expect(try ProviderURL("HTTPS://DNS.example:443/Q").description == "https://dns.example/Q")
    }

    @Test(arguments: [
        ("https://dns.example/dns-query/account-secret", "https://dns.example/…"),
        ("https://dns.example/account-secret", "https://dns.example/…"),
        ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443/…"),
        ("https://dns.example/dns-query", "https://dns.example/dns-query"),
        ("https://dns.example/resolve", "https://dns.example/resolve"), ("http://192.0.2.1", "http://192.0.2.1"),
        ("http://192.0.2.1/", "http://192.0.2.1/"),
    ])
    func `the path of a URL is shown only where every account has the same`(url: String, shown: String) throws {
        #expect(try ProviderURL(url).shown == shown)
    }

    @Test(arguments: [
        ("typ", "type"), ("tpye", "type"), ("typpe", "type"), ("adresses", "addresses"), ("memroy", "memory"),
        ("ttl_min", nil),
        ("", nil),
    ])
    func `the nearest key is found, and a far one is not`(text: String, key: String?) {
        #expect(nearest(to: text, among: ["type", "addresses", "memory", "min_ttl", "url"]) == key)
    }
}
