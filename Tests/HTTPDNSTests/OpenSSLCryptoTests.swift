import Testing
import Upstreams

/// Digests against published ones: RFC 1321 appendix A.5, FIPS 180-4's examples, and those of the services' pages.
struct OpenSSLCryptoTests {
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        (
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"
        ),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
        ("www.aliyun.com-IAmASecret-1534316400", "60c71e98b6d7fcbb366243e224eab457"),
        ("www.aliyun.com,www.taobao.com-IAmASecret-1534316400", "12a3f6b1b14a46ca813ca6439beb59a4"),
        ("www.example.com-0123456789abcdef0123456789abcdef-1700000000", "46667e265e1d713ff6ce351585a707b8"),
        (
            "www.example.com,api.example.com-0123456789abcdef0123456789abcdef-1700000000",
            "78c64ddb70f6885e089f8ce6d7ff3bf2"
        ),
    ])
    func `MD5 digests are those published`(text: String, digest: String) {
        #expect(OpenSSLCrypto().md5(Array(text.utf8)) == hex(digest))
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "123456s3cr3ts3cr3t1700000000www.example.comak0001",
            "dfaccfb6b2ad51f787820af91f780f3c67cf248b618d15f4e3625dee5659db7e"
        ),
    ])
    func `SHA-256 digests are those published`(text: String, digest: String) {
        #expect(OpenSSLCrypto().sha256(Array(text.utf8)) == hex(digest))
    }
}
