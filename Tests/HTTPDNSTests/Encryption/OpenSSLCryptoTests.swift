import HTTPDNS
import Testing
import Upstreams

/// Digests compared with published ones: RFC 1321 appendix A.5 and FIPS 180-4's examples. Those of the services' pages are
/// in the tests of their requests.
struct OpenSSLCryptoTests {
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
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
    ])
    func `SHA-256 digests are those published`(text: String, digest: String) {
        #expect(OpenSSLCrypto().sha256(Array(text.utf8)) == hex(digest))
    }

    @Test(arguments: [
        // RFC 4231 test case 2.
        (
            "what do ya want for nothing?", "4a656665",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        ("", "00", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func `HMACs are those published`(text: String, key: String, code: String) {
        #expect(OpenSSLCrypto().hmacSHA256(Array(text.utf8), key: hex(key)) == hex(code))
    }

    /// A text, its ciphertext, and the cipher.
    struct CipherVector: Sendable {
        let cipher: PayloadCipher
        let key: [UInt8]
        /// IV, ciphertext and tag.
        let sealed: [UInt8]
        let text: [UInt8]

        init(_ cipher: PayloadCipher, _ key: [UInt8], _ text: String, _ sealed: String) {
            (self.cipher, self.key, self.text, self.sealed) = (cipher, key, Array(text.utf8), hex(sealed))
        }

        var iv: [UInt8] { Array(sealed.prefix(cipher.ivLength)) }
        var ciphertext: [UInt8] { Array(sealed.dropFirst(cipher.ivLength)) }
    }

    private static let aliyunKey = hex("00112233445566778899aabbccddeeff")

    static let vectors: [CipherVector] = [
        CipherVector(
            .aes128CBC, aliyunKey, #"{"dn":"www.example.com","q":"4,6"}"#,
            """
            000102030405060708090a0b0c0d0e0f39cc1ffafb6111e2e9734349b7e84ed4f365fd95f821cd41015763be2cb86d7d
            2134125f05d0f7ed3d315efa40136b54
            """),
        CipherVector(
            .aes128GCM, aliyunKey, #"{"dn":"www.example.com","q":"4,6"}"#,
            """
            000102030405060708090a0b50f753aa8cadad17e84f07fa68ec2c9d617aa3291bdccca1ad2ff874c33faa1e14f46aca
            04f2ef645da00ba3d05fa28c66e2
            """),
        // NIST's GCM test case 1: an empty text.
        CipherVector(
            .aes128GCM, [UInt8](repeating: 0, count: 16), "",
            "000000000000000000000000 58e2fccefa7e3061367f1d57a4e7455a"),
        CipherVector(.desECB, Array("dnspodpa".utf8), "www.dnspod.cn", "87ae992c1321f299da3c0210a9900ae7"),
        CipherVector(
            .desECB, Array("k3yD3s8x".utf8), "192.0.2.1;192.0.2.2,60|203.0.113.7",
            "fb7d7eac1c4e53e7b2da01b215b9f0a26482b919aca5ae2c76a1f68445b7b4ecd645651ed636cb50"),
    ]

    @Test(arguments: vectors)
    func `ciphertexts are those of the vectors, both ways`(vector: CipherVector) {
        let crypto = OpenSSLCrypto()
        #expect(crypto.encrypt(vector.text, vector.cipher, key: vector.key, iv: vector.iv) == vector.ciphertext)
        #expect(crypto.decrypt(vector.ciphertext, vector.cipher, key: vector.key, iv: vector.iv) == vector.text)
    }

    @Test func `no bit of what GCM sealed can be changed`() {
        let vector = Self.vectors[1]
        for position in vector.sealed.indices {
            for bit in 0..<8 {
                var changed = vector.sealed
                changed[position] ^= 1 << bit
                let (iv, ciphertext) = (Array(changed.prefix(12)), Array(changed.dropFirst(12)))
                #expect(OpenSSLCrypto().decrypt(ciphertext, .aes128GCM, key: vector.key, iv: iv) == nil)
            }
        }
    }

    @Test(arguments: vectors)
    func `a ciphertext that was cut is refused`(vector: CipherVector) {
        // Missing whole blocks are detected only by the padding, and not always.
        for length in 0..<vector.ciphertext.count where vector.cipher == .aes128GCM || !length.isMultiple(of: 8) {
            let cut = Array(vector.ciphertext.prefix(length))
            #expect(OpenSSLCrypto().decrypt(cut, vector.cipher, key: vector.key, iv: vector.iv) == nil)
        }
    }

    @Test(arguments: PayloadCipher.allCases)
    func `keys, IVs and texts of a wrong length are refused`(cipher: PayloadCipher) {
        let crypto = OpenSSLCrypto()
        func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
        let (key, iv) = (bytes(cipher.keyLength), bytes(cipher.ivLength))
        for length in [0, cipher.keyLength - 1, cipher.keyLength + 1, 2 * cipher.keyLength] {
            #expect(crypto.encrypt(bytes(5), cipher, key: bytes(length), iv: iv) == nil)
            #expect(crypto.decrypt(bytes(32), cipher, key: bytes(length), iv: iv) == nil)
        }
        #expect(crypto.encrypt(bytes(5), cipher, key: key, iv: bytes(cipher.ivLength + 1)) == nil)
        #expect(crypto.decrypt([], cipher, key: key, iv: iv) == nil)
        #expect(crypto.encrypt(bytes(1 << 20), cipher, key: key, iv: iv) != nil)
        #expect(crypto.encrypt(bytes(1 << 20 + 1), cipher, key: key, iv: iv) == nil)
    }

    @Test func `random bytes are as many as asked, and never the same`() {
        let crypto = OpenSSLCrypto()
        #expect(crypto.randomBytes(0) == [])
        #expect(crypto.randomBytes(16)?.count == 16)
        #expect(crypto.randomBytes(16) != crypto.randomBytes(16))
    }
}
