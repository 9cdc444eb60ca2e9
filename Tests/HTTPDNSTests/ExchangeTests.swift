import DNSWire
import Foundation
import HTTPDNS
import Testing

/// The exchanges in `Tests/Exchanges`, replayed.
struct ExchangeTests {
    /// One file of the folder.
    private struct Exchange {
        let path: Substring
        let parameters: Set<Substring>
        let response: HTTPResponse

        init(_ name: String) throws {
            let file = ExchangeTests.folder.appending(path: name)
            let lines = try String(contentsOf: file, encoding: .utf8)
                .split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
            try #require(lines.count == 3 && lines[0].hasPrefix("GET "))
            (path, parameters) = Self.parts(lines[0].dropFirst(4))
            response = HTTPResponse(
                status: try #require(Int(lines[1])), date: 1_700_000_000, body: Array(lines[2].utf8))
        }

        static func parts(_ target: Substring) -> (Substring, Set<Substring>) {
            let halves = target.split(separator: "?", maxSplits: 1)
            return (halves[0], Set(halves[1].split(separator: "&")))
        }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Exchanges")

    /// A file, the service and types that it is for, and the expected outcome.
    struct Replay: Sendable {
        let file: String
        let format: any ProviderFormat
        let types: [RecordType]
        var time: Int64 = 1_699_999_400
        let outcome: ProviderOutcome
    }

    private static let nodata: UpstreamResult = .answer(.negative(name: name("www.example.com"), ttl: 300))
    private static let host = name("www.example.com")

    static let replays: [Replay] = [
        Replay(
            file: "aliyun-both", format: AliyunRequestTests.signing, types: [.a, .aaaa],
            outcome: .success([
                .a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 60),
            ])),
        Replay(
            file: "aliyun-expired", format: AliyunRequestTests.signing, types: [.a], time: 1_599_999_400,
            outcome: .failure(.clockSkew("SignatureExpired (HTTP 403)", serverTime: 1_700_000_000))),
        Replay(
            file: "aliyun-v2-plain", format: AliyunV2Tests.format(), types: [.a, .aaaa],
            outcome: .success([.a: addresses(["192.0.2.1"], ttl: 60), .aaaa: nodata])),
        Replay(
            file: "aliyun-v2-cbc", format: AliyunV2Tests.format(.cbc(AliyunV2Tests.key)), types: [.a, .aaaa],
            outcome: .success([.a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: nodata])),
        Replay(
            file: "aliyun-v2-gcm", format: AliyunV2Tests.format(.gcm(AliyunV2Tests.key)), types: [.a, .aaaa],
            outcome: .success([.a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: nodata])),
        Replay(
            file: "aliyun-v2-invalid-signature", format: AliyunV2Tests.format(), types: [.a],
            outcome: .failure(.authentication("InvalidSignature (HTTP 403)"))),
        Replay(
            file: "tencent-des", format: TencentTests.des, types: [.a],
            outcome: .success([.a: .indeterminateEmpty(ttl: nil)])),
        Replay(
            file: "tencent-des-unnamed", format: TencentTests.des, types: [.a],
            outcome: .failure(.unusable("the reply does not tell which name it is for"))),
        Replay(
            file: "tencent-aes", format: TencentTests.aes, types: [.a, .aaaa],
            outcome: .success([
                .a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 120),
            ])),
        Replay(
            file: "tencent-https", format: TencentTests.token, types: [.a],
            outcome: .success([.a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60)])),
    ]

    @Test(arguments: replays)
    func `the request is sent as it stands there, and the reply means what it should`(replay: Replay) throws {
        let exchange = try Exchange(replay.file)
        let question = UpstreamQuestion(name: Self.host, types: replay.types)
        let request = try replay.format.request(for: question, at: replay.time)
        let (path, parameters) = Exchange.parts(request.target[...])
        #expect(path == exchange.path)
        #expect(parameters == exchange.parameters)
        #expect(replay.format.outcome(of: exchange.response, to: question) == replay.outcome)
    }

    @Test func `every file is replayed`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0 != "README.md" }
        #expect(Set(files) == Set(Self.replays.map(\.file)))
    }
}
