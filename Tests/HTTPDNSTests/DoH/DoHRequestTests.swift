import DNSWire
import HTTPDNS
import Testing

/// The requests to a DoH server (RFC 8484 section 4.1).
struct DoHRequestTests {
    private func request(
        _ format: DoHFormat = DoHFormat(), _ text: String = "www.example.com", _ type: RecordType = .a,
        dnssecOK: Bool = false,
        checkingDisabled: Bool = false
    ) throws(UpstreamFailure) -> HTTPRequest {
        let question = UpstreamQuestion(
            name: name(text), types: [type], dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
        return try format.request(for: question, at: 0)
    }

    /// The message in the target of a GET.
    static func message(_ request: HTTPRequest) throws -> [UInt8] {
        let text = try #require(request.target.split(separator: "dns=").last)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = text.compactMap { alphabet.firstIndex(of: $0) }.flatMap { value in
            (0..<6).map { value >> (5 - $0) & 1 }
        }
        return stride(from: 0, through: bits.count - 8, by: 8).map { at in
            UInt8(bits[at..<(at + 8)].reduce(0) { $0 << 1 | $1 })
        }
    }

    @Test func `an A question is the RFC's own sample`() throws {
        let request = try request()
        #expect(request.target == "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB")
        #expect(request.headers == [["Accept", "application/dns-message"]])
        #expect(request.body == nil)
        #expect(try Self.message(request) == hex("00000100000100000000000003777777076578616d706c6503636f6d0000010001"))
    }

    @Test func `an AAAA question differs by its type`() throws {
        #expect(
            try request(DoHFormat(), "www.example.com", .aaaa).target
                == "/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAHAAB")
    }

    @Test func `base64url has its own two characters and no padding`() throws {
        // Bytes that base64 would write with + and /, and a length that it would pad.
        let target = try request(DoHFormat(), #"\255\239\190\251.example"#).target
        #expect(!target.contains { "+/=".contains($0.description) && $0 != "/" && $0 != "=" })
        let value = try #require(target.split(separator: "dns=").last)
        #expect(value.contains("_") && !value.contains("=") && !value.contains("/") && !value.contains("+"))
        let expected = Message(
            flags: .recursionDesired, questions: [Question(name: name(#"\255\239\190\251.example"#), type: .a)])
        #expect(try Self.message(HTTPRequest(target: target)) == expected.encoded)
    }

    @Test func `a padded query has 128 bytes`() throws {
        let expected =
            hex("00000100000100000000000103777777076578616d706c6503636f6d00000100010000291000000000000054000c0050")
            + [UInt8](repeating: 0, count: 80)
        #expect(expected.count == 128)
        #expect(try Self.message(request(DoHFormat(padsQueries: true))) == expected)
    }

    @Test func `padded queries of any length are a multiple of 128 bytes`() throws {
        for length in 1...63 {
            let text = String(repeating: "x", count: length) + "." + String(repeating: "y", count: 60)
            for format in [DoHFormat(padsQueries: true)] {
                let bytes = try Self.message(request(format, text))
                #expect(bytes.count % 128 == 0)
                #expect(try MessageParser.parse(bytes).edns?.options.map(\.code) == [.padding])
            }
        }
    }

    @Test func `DO and CD are asked for when wanted`() throws {
        let plain = try MessageParser.parse(Self.message(request()))
        #expect(plain.edns == nil)
        #expect(plain.flags == .recursionDesired)
        let wanting = try MessageParser.parse(Self.message(request(dnssecOK: true, checkingDisabled: true)))
        #expect(wanting.edns?.dnssecOK == true)
        #expect(wanting.flags == [.recursionDesired, .checkingDisabled])
        #expect(wanting.id == 0)
    }

    @Test func `the path is configurable, with a query of its own or without`() throws {
        #expect(try request(DoHFormat(path: "/123456/dns-query")).target.hasPrefix("/123456/dns-query?dns=AAAB"))
        #expect(try request(DoHFormat(path: "/q?key=1")).target.hasPrefix("/q?key=1&dns=AAAB"))
    }

    @Test func `a URL past 2,048 bytes becomes a POST`() throws {
        let path = "/" + String(repeating: "p", count: 1_900)
        let request = try request(DoHFormat(path: path))
        #expect(request.target == path)
        #expect(request.body == hex("00000100000100000000000003777777076578616d706c6503636f6d0000010001"))
        #expect(
            request.headers == [["Accept", "application/dns-message"], ["Content-Type", "application/dns-message"]])
    }

    @Test(arguments: [(1_732, true), (1_733, false)])
    func `the longest URL that is sent has 2,048 bytes at the longest host`(length: Int, isGET: Bool) throws {
        let path = "/" + String(repeating: "p", count: length - 1)
        let request = try request(DoHFormat(path: path))
        #expect((request.body == nil) == isGET)
        let authority = "https://".utf8.count + 253 + ":65535".utf8.count
        let query = "?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB".utf8.count
        #expect((authority + length + query <= 2_048) == isGET)
    }

    @Test func `the longest name fits into a GET`() throws {
        let label = String(repeating: "x", count: 63)
        let longest = [label, label, label, String(repeating: "y", count: 61)].joined(separator: ".")
        #expect(try request(DoHFormat(padsQueries: true), longest, .https, dnssecOK: true).body == nil)
    }

    @Test func `every type that exists in zones is answered, one a call`() {
        let format = DoHFormat()
        #expect(!format.answersBothFamilies)
        for type in [.a, .aaaa, .txt, .https, RecordType(rawValue: 4_711)] as [RecordType] {
            #expect(format.answers(type))
        }
        for type in [.any, .axfr, .ixfr, .opt] as [RecordType] { #expect(!format.answers(type)) }
    }

    @Test(arguments: [[], [.any], [.a, .aaaa]] as [[RecordType]])
    func `what is not one such type is not asked for`(types: [RecordType]) {
        let question = UpstreamQuestion(name: name("www.example.com"), types: types)
        #expect(throws: UpstreamFailure.self) { try DoHFormat().request(for: question, at: 0) }
        let response = HTTPResponse(status: 200, contentType: "application/dns-message")
        guard case .failure(.rejected) = DoHFormat().outcome(of: response, to: question) else {
            Issue.record("an outcome for \(types)")
            return
        }
    }
}
