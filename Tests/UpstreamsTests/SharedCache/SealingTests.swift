import HTTPDNS
import Testing

@testable import Upstreams

/// Test case 16 of "The Galois/Counter Mode of Operation" (McGrew and Viega), which NIST SP 800-38D refers to.
struct SealingTests {
    private let key = Self.bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
    private let associated = Self.bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    private let text = Self.bytes(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    private let sealed = Self.bytes(
        "cafebabefacedbaddecaf888"
            + "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
            + "76fc6ece0f4e1768cddf8853bb2d551b")

    private static func bytes(_ digits: String) -> [UInt8] { TextDecoding.hexadecimal(digits) ?? [] }

    @Test func `the vector of the specification is opened, and nothing that differs from it`() {
        let crypto = OpenSSLCrypto()
        #expect(crypto.open(sealed, key: key, associated: associated) == text)
        #expect(crypto.open(sealed.dropLast() + [0], key: key, associated: associated) == nil)
        #expect(crypto.open(sealed, key: [0] + key.dropFirst(), associated: associated) == nil)
        #expect(crypto.open(sealed, key: key, associated: associated + [0]) == nil)
        for count in 0..<OpenSSLCrypto.sealingOverhead {
            #expect(crypto.open(Array(sealed.prefix(count)), key: key, associated: associated) == nil)
        }
    }
}
