import Foundation
import Testing

/// The fuzz targets, by the names of their files and of the folders of their corpora.
private let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "CacheBlocks": fuzzCacheBlocks, "Certificate": fuzzCertificate, "ControlRequest": fuzzControlRequest,
    "DatagramSlots": fuzzDatagramSlots, "Dnstap": fuzzDnstap, "DoHJSONReply": fuzzDoHJSONReply,
    "DoHReply": fuzzDoHReply,
    "FrameBuffer": fuzzFrameBuffer, "HTTP1Reader": fuzzHTTP1Reader, "HTTP2ServerSession": fuzzHTTP2ServerSession,
    "HTTP2Session": fuzzHTTP2Session, "HTTPReply": fuzzHTTPReply, "HTTPTunnel": fuzzHTTPTunnel,
    "HostsFile": fuzzHostsFile, "JSONReader": fuzzJSONReader, "LocalDNSReply": fuzzLocalDNSReply,
    "MessageParser": fuzzMessageParser, "PolicyEnvelope": fuzzPolicyEnvelope, "ProxyHeader": fuzzProxyHeader,
    "RedisReply": fuzzRedisReply, "Reply": fuzzReply, "SealedAnswer": fuzzSealedAnswer,
    "ServiceBinding": fuzzServiceBinding, "ServiceBindings": fuzzServiceBindings, "StoredRow": fuzzStoredRow,
    "SystemReaders": fuzzSystemReaders, "TLSChannel": fuzzTLSChannel, "TOMLReader": fuzzTOMLReader,
    "VendorReply": fuzzVendorReply, "VendorRequest": fuzzVendorRequest,
]

private let environment = ProcessInfo.processInfo.environment

/// Each fuzz target on its corpus, and on mutations of it that are the same in every run.
///
/// HTTPDNSD_FUZZ_MUTATIONS: the number of mutations for each target, by default 500. HTTPDNSD_FUZZ_SEED: other ones than
/// those of 0.
struct FuzzTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let replay = folder.deletingLastPathComponent().appending(path: ".build-fuzz/replay")
    private static let mutations = environment["HTTPDNSD_FUZZ_MUTATIONS"].flatMap { Int($0) } ?? 500
    private static let seed = environment["HTTPDNSD_FUZZ_SEED"].flatMap { UInt64($0) } ?? 0

    private static func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `every target is played, and has a corpus`() throws {
        let files = try Self.names(in: Self.folder).filter { $0.hasSuffix("Fuzz.swift") }
        #expect(files.map { String($0.dropLast(10)) } == targets.keys.sorted())
        let corpora = try Self.names(in: Self.folder.appending(path: "Corpus"))
        #expect(corpora.filter { $0 != "README.md" } == targets.keys.sorted())
    }

    /// Each target has a process of its own, for an input may end it.
    @Test(arguments: targets.keys.sorted())
    func `what a target says holds for its corpus and what is similar`(target: String) async {
        await #expect(processExitsWith: .success, "\(Self.lastInput(of: target))") { [target] in
            try Self.play(target)
        }
    }

    /// A target's corpus and the mutations, with their names.
    private static func inputs(of target: String) throws -> [(name: String, bytes: [UInt8])] {
        let corpus = folder.appending(path: "Corpus/\(target)")
        let files = try names(in: corpus).map { ($0, [UInt8](try Data(contentsOf: corpus.appending(path: $0)))) }
        var numbers = Numbers(seed)
        return files
            + (0..<mutations).map { number in
                let (name, bytes) = files[numbers.number(files.count - 1)]
                let (_, other) = files[numbers.number(files.count - 1)]
                return ("\(name)-mutation-\(seed)-\(number)", numbers.mutated(bytes, with: other))
            }
    }

    /// A file with the name of each input that was played, and with what its process wrote to its standard error.
    private static func log(of target: String) -> URL { replay.appending(path: target) }

    private static func play(_ target: String) throws {
        try FileManager.default.createDirectory(at: replay, withIntermediateDirectories: true)
        try Data().write(to: log(of: target))
        let log = try FileHandle(forWritingTo: log(of: target))
        dup2(log.fileDescriptor, STDERR_FILENO)
        for input in try inputs(of: target) {
            try log.write(contentsOf: Data("playing \(input.name)\n".utf8))
            // Ends the process when the input does not.
            alarm(60)
            targets[target]?(input.bytes)
        }
    }

    /// Saves the input that was played last.
    private static func lastInput(of target: String) -> String {
        do {
            let played = String(decoding: try Data(contentsOf: log(of: target)), as: UTF8.self)
                .components(separatedBy: "playing ")
            guard played.count > 1, let last = played.last else { return "nothing was played" }
            let input = try inputs(of: target)[played.count - 2]
            let file = replay.appending(path: "\(target)-\(input.name)")
            try Data(input.bytes).write(to: file)
            return "saved as \(file.path): \(last.prefix(2_000))"
        } catch {
            return "\(error)"
        }
    }
}

#if FUZZING
    @_silgen_name("LLVMFuzzerRunDriver")
    private func runLibFuzzer(
        _ count: inout CInt, _ arguments: inout UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
        _ play: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
    ) -> CInt

    private let target = URL(filePath: CommandLine.arguments[0]).lastPathComponent

    /// What `Fuzz/run` starts in place of the tests: libFuzzer, for the target after which the executable is named.
    @_cdecl("__wrap_main")
    func fuzz(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
        var (count, arguments) = (count, arguments)
        return runLibFuzzer(&count, &arguments) { data, count in
            guard let play = targets[target] else { preconditionFailure("there is no fuzz target \(target)") }
            play(Array(UnsafeBufferPointer(start: data, count: count)))
            return 0
        }
    }
#endif
