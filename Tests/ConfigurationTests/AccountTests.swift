import Configuration
import DNSWire
import HTTPDNS
import Testing

/// `[[account]]`.
struct AccountTests {
    private func read(_ lines: String, listen: String = "httpdns = [\"127.0.0.1:8080\"]") throws -> LoadedConfiguration
    {
        try accepted("[listen]\n\(listen)\n[[account]]\n\(lines)\n" + minimal)
    }

    @Test func `an account is an ID, and credentials that its clients have`() throws {
        let account = try #require(
            try read("id = \"1001\"\nencryption = \"aes\"\nencryption_key = \"0123456789abcdef\"\ndaily_limit = 7")
                .configuration.accounts.first)
        #expect(account.id == "1001")
        #expect(account.encryption == .aes)
        #expect(account.encryptionKey == Secret("0123456789abcdef"))
        #expect(account.dailyLimit == 7)
        #expect(!account.clientSubnet && !account.replayable)
    }

    @Test(
        arguments: [
            ("", "account[1].id: is missing"), ("id = \"1\"\n[[account]]\nid = \"1\"", "is the ID of another account"),
            ("id = \"1\"\nencryption = \"des\"", "encryption_key: is missing"),
            ("id = \"1\"\nencryption = \"aes\"\nencryption_key = \"short\"", "must have exactly 16 characters"),
            ("id = \"1\"\nencryption = \"gcm\"\nencryption_key = \"zz\"", "must be 32 hexadecimal digits"),
            (
                "id = \"1\"\nencryption = \"cbc\"\nencryption_key = \"00112233445566778899aabbccddeeff\"",
                "secret: is missing"
            ),
        ]) func `what cannot work is refused`(lines: String, message: String)
    {
        let found = errors("[listen]\nhttpdns = [\"127.0.0.1:8080\"]\n[[account]]\n\(lines)\n" + minimal)
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func `accounts without a listener have no effect`() throws {
        let warnings = try read("id = \"1\"", listen: "").warnings.map(\.description)
        #expect(warnings.contains { $0.contains("neither listen.https nor listen.httpdns has an address") })
        #expect(try !read("id = \"1\"").warnings.map(\.description).contains { $0.contains("listen.httpdns") })
    }

    @Test func `the addresses of listeners are those that clients are given, unless others are written`() throws {
        let listen = "httpdns = [\"192.0.2.53:8080\", \"192.0.2.53:8081\", \"0.0.0.0:80\"]"
        func read(_ lines: String) throws -> [String] {
            try accepted("[listen]\n\(lines)\n" + minimal).configuration.listen.advertisedAddresses.map(\.description)
        }
        #expect(try read(listen) == ["192.0.2.53"])
        #expect(try read(listen + "\nadvertise = [\"203.0.113.1\"]") == ["203.0.113.1"])
    }
}
