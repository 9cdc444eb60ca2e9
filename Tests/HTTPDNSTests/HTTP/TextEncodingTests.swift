import HTTPDNS
import TestSupport
import Testing

/// The encodings of bytes as text, both ways.
struct TextEncodingTests {
    /// RFC 4648 section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `base64 is that of its RFC, both ways`(text: String, encoded: String) {
        #expect(TextEncoding.base64(Array(text.utf8)) == encoded)
        #expect(TextDecoding.base64(encoded) == Array(text.utf8))
    }

    @Test func `every byte comes back, in base64 and in hexadecimal digits`() {
        for bytes in [Array(UInt8.min...UInt8.max), Array((UInt8.min...UInt8.max).reversed())] {
            #expect(TextDecoding.base64(TextEncoding.base64(bytes)) == bytes)
            for length in 0..<40 {
                let part = Array(bytes.suffix(length))
                #expect(TextDecoding.base64URL(Array(part.base64URL.utf8)[...]) == part)
            }
            #expect(TextDecoding.hexadecimal(TextEncoding.hexadecimal(bytes)) == bytes)
            #expect(TextDecoding.hexadecimal(TextEncoding.hexadecimal(bytes).uppercased()) == bytes)
        }
    }

    @Test(arguments: [
        "A", "AA", "AAA", "A===", "AA=", "AA===", "AAA==", "AAAA=", "AAAA====", "====", "=AAA", "A=AA", "AA=A",
        "AA==AA==", "AAA-", "AAA_", "AAA ", "AAAé",
    ])
    func `what is not base64 with its padding is refused`(text: String) {
        #expect(TextDecoding.base64(text) == nil)
    }

    @Test(arguments: ["0", "000", "0g", "g0", "0G", "/0", ":0", "@0", "`0", " 00", "0x00", "é"])
    func `what is not pairs of hexadecimal digits is refused`(text: String) {
        #expect(TextDecoding.hexadecimal(text) == nil)
    }

    @Test(arguments: [
        ("AZaz09-._~", "AZaz09-._~"), ("/?&=+ %:", "%2F%3F%26%3D%2B%20%25%3A"), ("é", "%C3%A9"), ("\u{0}", "%00"),
    ])
    func `all but unreserved characters are percent-encoded`(text: String, encoded: String) {
        #expect(TextEncoding.percent(text) == encoded)
    }
}
