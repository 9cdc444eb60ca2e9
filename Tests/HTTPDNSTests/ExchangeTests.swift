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

    /// A file, who asks it, for what, and what comes of it.
    struct Replay: Sendable {
        let file: String
        let service: any BatchService
        let names: [String]
        let types: [RecordType]
        var time: Int64 = 1_699_999_400
        let outcome: @Sendable ([Name]) -> BatchOutcome
    }

    private static let nodata: ServiceResult = .answer(.negative(name: name("www.example.com"), ttl: 300))
    private static let www = ["www.example.com"]

    static let replays: [Replay] = [
        Replay(file: "aliyun-both", service: AliyunRequestTests.signing, names: www, types: [.a, .aaaa]) {
            .results([
                $0[0]: [
                    .a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 60),
                ]
            ])
        },
        Replay(
            file: "aliyun-batch", service: AliyunRequestTests.unsigned, names: www + ["none.example.com"],
            types: [.a, .aaaa]
        ) {
            .results([
                $0[0]: [.a: addresses(["192.0.2.1"], ttl: 60), .aaaa: .unknownEmpty(ttl: 3600)],
                $0[1]: [.a: .unknownEmpty(ttl: 300)],
            ])
        },
        Replay(
            file: "aliyun-expired", service: AliyunRequestTests.signing, names: www, types: [.a], time: 1_599_999_400
        ) { _ in .failure(.clockSkew("SignatureExpired (HTTP 403)", serverTime: 1_700_000_000)) },
        Replay(file: "aliyun-v2-plain", service: AliyunV2Tests.service(), names: www, types: [.a, .aaaa]) {
            .results([$0[0]: [.a: addresses(["192.0.2.1"], ttl: 60), .aaaa: nodata]])
        },
        Replay(
            file: "aliyun-v2-cbc", service: AliyunV2Tests.service(.cbc(key: AliyunV2Tests.key)), names: www,
            types: [.a, .aaaa]
        ) { .results([$0[0]: [.a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: nodata]]) },
        Replay(
            file: "aliyun-v2-gcm", service: AliyunV2Tests.service(.gcm(key: AliyunV2Tests.key)), names: www,
            types: [.a, .aaaa]
        ) { .results([$0[0]: [.a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: nodata]]) },
        Replay(file: "aliyun-v2-invalid-signature", service: AliyunV2Tests.service(), names: www, types: [.a]) { _ in
            .failure(.authentication("InvalidSignature (HTTP 403)"))
        },
        Replay(file: "tencent-des", service: TencentTests.des, names: www, types: [.a]) {
            .results([$0[0]: [.a: .unknownEmpty(ttl: nil)]])
        },
        Replay(file: "tencent-des-unnamed", service: TencentTests.des, names: www, types: [.a]) { _ in
            .failure(.unavailable("the reply does not tell which name it is for"))
        },
        Replay(file: "tencent-aes", service: TencentTests.aes, names: www, types: [.a, .aaaa]) {
            .results([
                $0[0]: [
                    .a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60), .aaaa: addresses(["2001:db8::1"], ttl: 120),
                ]
            ])
        },
        Replay(
            file: "tencent-https", service: TencentTests.token, names: www + ["none.example.com"], types: [.a]
        ) {
            .results([
                $0[0]: [.a: addresses(["192.0.2.1", "192.0.2.2"], ttl: 60)], $0[1]: [.a: .unknownEmpty(ttl: nil)],
            ])
        },
    ]

    @Test(arguments: replays)
    func `the request is sent as it stands there, and the reply means what it should`(replay: Replay) throws {
        let exchange = try Exchange(replay.file)
        let names = replay.names.map { name($0) }
        let request: HTTPRequest
        let outcome: BatchOutcome
        if let host = names.first, names.count == 1 {
            let question = ServiceQuestion(name: host, types: replay.types)
            request = try replay.service.request(for: question, at: replay.time)
            switch replay.service.outcome(of: exchange.response, to: question) {
            case .results(let results): outcome = .results([host: results])
            case .failure(let failure): outcome = .failure(failure)
            }
        } else {
            let question = BatchQuestion(names: names, types: replay.types)
            request = try replay.service.request(for: question, at: replay.time)
            outcome = replay.service.outcome(of: exchange.response, to: question)
        }
        let (path, parameters) = Exchange.parts(request.target[...])
        #expect(path == exchange.path)
        #expect(parameters == exchange.parameters)
        #expect(outcome == replay.outcome(names))
    }

    @Test func `every file is replayed`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).filter { $0 != "README.md" }
        #expect(Set(files) == Set(Self.replays.map(\.file)))
    }
}
