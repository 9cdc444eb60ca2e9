import HTTPDNS
import Testing
import Upstreams

@testable import Configuration

struct SharedCacheSettingsTests {
    private static let key = String(repeating: "0f", count: 32)

    private func shared(_ lines: String) throws -> LoadedConfiguration {
        try accepted(minimal + "[cache.shared]\n" + lines)
    }

    private func problems(_ lines: String) -> [String] { errors(minimal + "[cache.shared]\n" + lines) }

    // MARK: The URL

    @Test(arguments: [
        ("redis://192.0.2.1", "192.0.2.1", 6379, false),
        ("redis://redis.example.com:7000", "redis.example.com", 7000, false),
        ("rediss://[2001:db8::1]:6380", "2001:db8::1", 6380, true), ("REDIS://h/", "h", 6379, false),
    ])
    func `a URL names host, port, and whether there is TLS`(text: String, host: String, port: UInt16, usesTLS: Bool)
        throws
    {
        guard case .host(let read, let readPort, let readTLS) = try RedisSettings(url: text).place else {
            Issue.record("no host")
            return
        }
        #expect((read, readPort, readTLS) == (host, port, usesTLS))
    }

    @Test func `user, password and database are read, percent-encoding undone`() throws {
        let url = try RedisSettings(url: "rediss://fleet:a%40b%2Fc:d@192.0.2.1:6380/3")
        #expect((url.user, url.password?.value, url.database) == ("fleet", "a@b/c:d", 3))
        #expect(try RedisSettings(url: "redis://:p@h").password?.value == "p")
        #expect(try RedisSettings(url: "redis://h").password == nil)
    }

    @Test func `a Unix socket is named by its path, with password and database if there are any`() throws {
        #expect(try RedisSettings(url: "unix:/run/redis.sock").place == .path("/run/redis.sock"))
        let url = try RedisSettings(url: "unix://u:p@/run/redis.sock?database=2")
        #expect(url.place == .path("/run/redis.sock"))
        #expect((url.user, url.password?.value, url.database) == ("u", "p", 2))
    }

    @Test(arguments: [
        ("http://h", "must begin with redis://, rediss:// (for TLS) or unix:/"), ("192.0.2.1:6379", "must begin with"),
        ("redis://", "has no valid host"), ("redis://h:0", "has no valid port"),
        ("redis://h/x", "number of the database"),
        ("redis://h/65536", "number of the database"), ("redis://u@h", "must have a password behind the user"),
        ("redis://u:@h", "has an empty password"), ("redis://u:p%4@h", "must be written as %25"),
        ("unix:redis.sock", "absolute path"), ("unix:/a?b=c", "must end behind the path"),
        ("unix:/\(String(repeating: "x", count: 107))", "at most 107 characters"),
    ])
    func `a URL that is none is refused, with what would be right, and is not repeated`(text: String, reason: String) {
        let lines = problems("url = \"\(text)\"\nkey = \"\(Self.key)\"")
        #expect(lines.count == 1 && lines[0].contains("cache.shared.url") && lines[0].contains(reason), "\(lines)")
        #expect(!lines.joined().contains(text))
    }

    // MARK: The key

    @Test(arguments: [key, key.uppercased(), "Dw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8="])
    func `a key has 32 bytes, in hexadecimal or base64`(key: String) throws {
        #expect(try shared("url = \"redis://h\"\nkey = \"\(key)\"").configuration.cache.shared.key?.value == key)
    }

    @Test(arguments: [
        ("", "is missing: write the fleet's secret"), ("0f0f", "has 2 bytes: it must be 32 bytes"),
        (key + "00", "has 33 bytes: it must be 32 bytes"), ("not-a-key!", "is neither hexadecimal nor base64"),
    ])
    func `a key that is none is refused, with its length, and is not repeated`(key: String, reason: String) {
        let lines = problems("url = \"redis://h\"\nkey = \"\(key)\"")
        #expect(lines.count == 1 && lines[0].contains("cache.shared.key") && lines[0].contains(reason), "\(lines)")
        #expect(key.count < 5 || !lines.joined().contains(key))
    }

    @Test func `a key may stand in a file, and then not in the configuration too`() {
        let lines = problems("url = \"redis://h\"\nkey = \"\(Self.key)\"\nkey_file = \"/k\"")
        #expect(lines.count == 1 && lines[0].contains("must not be written together with key"), "\(lines)")
        let absent = problems("url = \"redis://h\"\nkey_file = \"/nonexistent/key\"")
        #expect(absent.count == 1 && absent[0].contains("cache.shared.key_file"), "\(absent)")
    }

    // MARK: Warnings

    @Test func `a password that goes unencrypted to another machine is warned of`() throws {
        func warnings(_ url: String) throws -> [String] {
            try shared("url = \"\(url)\"\nkey = \"\(Self.key)\"").warnings.map(\.description)
        }
        #expect(try warnings("redis://:p@192.0.2.1").contains { $0.contains("write rediss://") })
        for url in [
            "redis://:p@127.0.0.1", "redis://:p@localhost", "rediss://:p@192.0.2.1", "redis://192.0.2.1", "unix:/r",
        ] {
            #expect(try warnings(url).isEmpty, "\(url)")
        }
    }

    @Test func `keys without an effect are warned of`() throws {
        let alone = try shared("lease = false").warnings.map(\.description)
        #expect(alone.count == 1 && alone[0].contains("has no effect: there is no cache.shared.url"), "\(alone)")
        let file = try shared("url = \"redis://h\"\nkey = \"\(Self.key)\"\nca_file = \"/ca.pem\"").warnings
        #expect(file.count == 1 && "\(file[0])".contains("only a URL with rediss://"))
    }

    @Test func `authorities that cannot be read are warned of`() throws {
        let file = try shared("url = \"rediss://h\"\nkey = \"\(Self.key)\"\nca_file = \"/nowhere\"").warnings
        #expect(file.count == 1 && "\(file[0])".contains("cache.shared.ca_file: \"/nowhere\" cannot be read: "))
    }

}
