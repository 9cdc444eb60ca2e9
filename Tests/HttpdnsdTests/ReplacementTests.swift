import DNSServer
import Glibc
import Platform
import TestSupport
import Testing

@testable import httpdnsd

/// What the two processes of `serve --replace` say to each other.
struct ReplacementTests {
    private func ends() throws -> (link: Replacement.Link, other: NoticeSocket) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        return (.init(NoticeSocket(Descriptor(owning: ends[0]))), NoticeSocket(Descriptor(owning: ends[1])))
    }

    private func failure(_ body: () throws(Replacement.Failure) -> Void) -> String? {
        do throws(Replacement.Failure) {
            try body()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        Replacement.Word.sockets, .prepared, .fileClosed, .serving, .work, .failed("a reason; with a part"),
    ])
    func `a word is read as it was said`(word: Replacement.Word) {
        #expect(Replacement.Word(word.message.split(separator: "\n").map(String.init)) == word)
    }

    @Test func `a message without a word says nothing, and an unknown word is a failure`() {
        #expect(Replacement.Word(["FDSTORE=1", "FDNAME=httpdnsd-udp"]) == nil)
        #expect(Replacement.Word(["REPLACE=later"]) == .failed("it says later"))
        #expect(Replacement.Word(["REPLACE=failed", "REASON="]) == .failed(""))
    }

    @Test func `what was passed comes with the word behind it`() throws {
        let (link, other) = try ends()
        let file = try PassedDescriptor([1], name: "file")
        try other.store([file.number].compactMap(\.self), as: PassedKind.queries.rawValue)
        try other.send(Replacement.Word.work.message)
        let passed = try link.wait(for: .work, within: .patience)
        #expect(passed.map(\.name) == [PassedKind.queries.rawValue] && passed[0].contents(limit: 1) == [1])
    }

    @Test func `a word that comes in time counts, and none that comes later`() throws {
        let (link, other) = try ends()
        try other.send(Replacement.Word.serving.message)
        #expect(failure { () throws(Replacement.Failure) in _ = try link.wait(for: .serving, within: .zero) } == nil)
        let reason = failure { () throws(Replacement.Failure) in _ = try link.wait(for: .serving, within: .zero) }
        #expect(reason == "the other process has said nothing for 0 s")
        #expect(throws: SystemError.self) { try other.send(Replacement.Word.serving.message) }
    }

    @Test func `the reason of the other process is known, also when something is said to it afterwards`() throws {
        let (link, other) = try ends()
        // It leaves something unread.
        try link.say(.fileClosed)
        do {
            let dying = Replacement.Link(other)
            try dying.say(.failed("no memory\nat all"))
            dying.end()
        }
        #expect(failure { () throws(Replacement.Failure) in try link.say(.serving) } == "no memory; at all")
    }

    @Test func `the end of the other process is noticed by who waits, and by who says something`() throws {
        for isWaiting in [true, false] {
            let link = try ends().link
            let reason = failure { () throws(Replacement.Failure) in
                if isWaiting { _ = try link.wait(for: .work, within: .patience) } else { try link.say(.work) }
            }
            #expect(reason == "the other process has ended")
        }
    }
}
