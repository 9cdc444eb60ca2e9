import Configuration
import DNSResolver
import Foundation
import Glibc
import TestSupport
import Testing
import Upstreams

@testable import httpdnsd

/// What a process leaves for the next one.
struct StoredTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A configuration whose control socket is in the folder, without a cache on disk.
    private func settings(_ more: String = "", folder: String = "") throws -> Configuration {
        let control = "[control]\nsocket = \"\(directory.path)\(folder)/a.sock\"\n"
        return try Configuration.parse(text: Patient.configuration + control + more).configuration
    }

    // MARK: The switch

    @Test func `a server that was switched off is found off, until it is switched on`() async throws {
        let file = try #require(SwitchFile(settings()))
        #expect(!file.isOff)
        for isOn in [false, false, true, true] {
            #expect(await file.store(isOn: isOn))
            #expect(file.isOff != isOn)
        }
    }

    @Test func `a switch that cannot be stored is said to be lost with a restart`() async throws {
        let file = try #require(SwitchFile(settings(folder: "/missing")))
        #expect(await !file.store(isOn: false))
        #expect(!file.isOff)
    }

    @Test func `what is no file of this user switches nothing off`() throws {
        let file = try #require(SwitchFile(settings()))
        let path = directory.path + "/a.sock.off"
        #expect(symlink("/dev/null", path) == 0 && !file.isOff)
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0 && !file.isOff)
    }

    // MARK: Calls

    @Test func `the calls of a day and a month are read as they were stored`() {
        let record = CallQuota.Record(
            day: CallCount(period: 20_000, calls: 7, billed: 9), month: CallCount(period: 657, calls: 70, billed: 90),
            since: 1_800_000_000)
        #expect(CallQuota.Record(storedText: record.storedText) == record)
    }

    @Test(arguments: [
        "", "20000 7 9 657 70 90", "20000 7 9 657 70 90 1 1", "20000 7 9 657 70 90 x", "20000 -7 9 657 70 90 1",
        "20000 7 9 657 70 -90 1", "20000 7 9 657 70 99999999999999999999 1",
    ])
    func `calls that make no sense are none`(text: String) {
        #expect(CallQuota.Record(storedText: text) == nil)
    }

    // MARK: The policy

    private func policyFile() throws -> PolicyFile {
        let key = try PolicySecretKey.make(directory.path + "/secret.key")
        return try #require(
            PolicyFile(settings("[policy]\nurl = \"\(directory.path)/policy\"\npublic_key = [\"\(key.publicKey)\"]\n")))
    }

    @Test func `the tag of a document is known at its URL, beside that document alone`() async throws {
        let file = try policyFile()
        let (url, first, second) = ("https://fleet.example/", Array("one\n1".utf8), Array("two\n2".utf8))
        try await file.store(first, tag: "\"a\"", at: url)
        #expect(file.bytes == first && file.tag(at: url) == "\"a\"")
        #expect(file.tag(at: "https://other.example/") == nil)
        try await file.store(second, tag: nil, at: url)
        #expect(file.bytes == second && file.tag(at: url) == nil)
    }

    @Test(arguments: ["", "\u{7f}", "a\u{1f}", "a\nb", "ü"])
    func `nothing but a tag gets from the file into a request`(tag: String) async throws {
        let file = try policyFile()
        try await file.store(Array("one\n1".utf8), tag: tag, at: "https://fleet.example/")
        #expect(file.tag(at: "https://fleet.example/") == nil)
    }

    @Test func `a machine's place is the same each time, and machines are spread evenly`() {
        let places = (0..<10_000).map { SignedPolicy.percentile(of: Array("machine \($0)".utf8)) }
        #expect(places == (0..<10_000).map { SignedPolicy.percentile(of: Array("machine \($0)".utf8)) })
        #expect(places.allSatisfy { (0..<100).contains($0) })
        #expect((800...1_200).contains(places.count { $0 < 10 }))
    }

    // MARK: What the sandbox must leave open

    @Test(arguments: [
        ("", false), ("[log]\ndnstap = \"tcp:127.0.0.1:9\"\n", false), ("[log]\ndnstap = \"unix:/run/a.sock\"\n", true),
        ("[cache.shared]\nurl = \"unix:/run/redis.sock\"\n", true),
        ("[cache.shared]\nurl = \"redis://127.0.0.1:6379\"\n", false),
    ])
    func `a server that speaks with another program by a Unix socket says so`(more: String, connects: Bool) throws {
        let secret = "key = \"\(String(repeating: "0", count: 64))\"\n"
        let text = more.contains("shared") ? more + secret : more
        #expect(try settings(text).connectsToUnixSockets == connects)
    }
}
