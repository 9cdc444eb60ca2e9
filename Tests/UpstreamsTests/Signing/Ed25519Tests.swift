import HTTPDNS
import Testing
import Upstreams

struct Ed25519Tests {
    /// RFC 8032, section 7.1, tests 1 to 3: private key, public key, text, signature.
    private static let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    private func bytes(_ text: String) throws -> [UInt8] { try #require(TextDecoding.hexadecimal(text)) }

    @Test(arguments: 0..<3)
    func `keys and signatures are those of RFC 8032`(index: Int) throws {
        let (key, publicKey, text, signature) = Self.vectors[index]
        #expect(try Ed25519.publicKey(of: bytes(key)) == bytes(publicKey))
        #expect(try Ed25519.signature(of: bytes(text)[...], privateKey: bytes(key)) == bytes(signature))
        #expect(try Ed25519.isValid(bytes(signature), of: bytes(text)[...], publicKey: bytes(publicKey)))
    }

    @Test func `an altered text, signature or key is not valid`() throws {
        let (_, publicKey, text, signature) = Self.vectors[2]
        let parts = [try bytes(signature), try bytes(text), try bytes(publicKey)]
        for index in parts.indices {
            for place in parts[index].indices {
                var altered = parts
                altered[index][place] ^= 0x10
                #expect(!Ed25519.isValid(altered[0], of: altered[1][...], publicKey: altered[2]))
            }
        }
    }

    @Test func `keys and signatures of another length are not valid`() throws {
        let (key, publicKey, text, signature) = Self.vectors[1]
        #expect(Ed25519.publicKey(of: []) == nil)
        #expect(try Ed25519.publicKey(of: bytes(key) + [0]) == nil)
        #expect(Ed25519.signature(of: [1], privateKey: [1, 2]) == nil)
        #expect(try !Ed25519.isValid([], of: bytes(text)[...], publicKey: bytes(publicKey)))
        #expect(try !Ed25519.isValid(bytes(signature), of: bytes(text)[...], publicKey: []))
    }

    @Test func `new keys differ, and sign`() throws {
        let (one, other) = (try #require(Ed25519.newKey()), try #require(Ed25519.newKey()))
        #expect(one != other)
        let signature = try #require(Ed25519.signature(of: [1, 2], privateKey: one))
        let key = try #require(Ed25519.publicKey(of: one))
        #expect(Ed25519.isValid(signature, of: [1, 2], publicKey: key))
    }
}
