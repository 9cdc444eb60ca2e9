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

/// The preferred form of a date in HTTP.
struct HTTPDateTests {
    @Test(
        arguments: [
            ("Tue, 14 Nov 2023 22:13:20 GMT", 1_700_000_000), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Fri, 15 Jan 2027 08:00:00 GMT", 1_800_000_000), ("Sat, 31 Dec 2099 23:59:59 GMT", 4_102_444_799),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ] as [(String, Int64)])
    func `a date is read as seconds since 1970`(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text.utf8.span) == seconds)
    }

    @Test(
        arguments: zip(
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
            [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334] as [Int64]))
    func `every month begins where the one before ends`(month: String, days: Int64) {
        #expect(HTTPDate.seconds("Sun, 01 \(month) 2023 00:00:00 GMT".utf8.span) == 1_672_531_200 + days * 86_400)
    }

    @Test(arguments: [
        "", "Tue, 14 Nov 2023 22:13:20", "Tue, 14 nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 24:13:20 GMT",
        "Tue, 14 Nov 2023 22:60:20 GMT", "Tue, 14 Nov 2023 22:13:61 GMT", "Tue, 32 Nov 2023 22:13:20 GMT",
        "Tue, 1: Nov 2023 22:13:20 GMT", "Tue, 1/ Nov 2023 22:13:20 GMT",
        "Tue, 00 Nov 2023 22:13:20 GMT", "Tue, 1x Nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 22:13:20 UTC",
        "Tuesday, 14-Nov-23 22:13:20 GMT", "Tue Nov 14 22:13:20 2023",
    ])
    func `any other form is not`(text: String) {
        #expect(HTTPDate.seconds(text.utf8.span) == nil)
    }
}
