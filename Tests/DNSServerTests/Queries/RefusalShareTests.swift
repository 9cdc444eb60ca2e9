import Testing

@testable import DNSServer

/// Which queries that are not taken on the UDP threads answer with SERVFAIL; the others are not answered.
@Suite struct RefusalShareTests {
    /// Which of `count` refusals in a row are answered.
    private func answers(of share: RefusalShare, _ count: Int) -> [Bool] { (0..<count).map { _ in share.refuse() } }

    @Test func `at first all are answered`() {
        let share = RefusalShare()
        #expect(answers(of: share, 1_000).allSatisfy { $0 })
        #expect(share.counts.refused == 1_000 && share.counts.silent == 0)
    }

    @Test(arguments: 1...200) func `of each 64 in a row as many are answered as the share says`(steps: Int) {
        let share = RefusalShare()
        for _ in 0..<steps { share.lower() }
        #expect(answers(of: share, 64).count { $0 } == share.current)
        #expect(answers(of: share, 6_400).count { $0 } == share.current * 100)
        #expect(share.counts.silent == 101 * (RefusalShare.whole - share.current))
    }

    @Test func `those that are answered are spread evenly`() {
        let share = RefusalShare()
        while share.current > 32 { share.lower() }
        let answered = answers(of: share, 640)
        let longestSilence = answered.split(separator: true).map(\.count).max() ?? 0
        #expect(longestSilence <= RefusalShare.whole / share.current + 1)
    }

    @Test func `never are all left without an answer`() {
        let share = RefusalShare()
        for _ in 0..<1_000 { share.lower() }
        #expect(share.current == RefusalShare.least)
    }

    @Test func `a share that was raised often enough is the whole, and no more`() {
        let share = RefusalShare()
        for _ in 0..<1_000 { share.lower() }
        for _ in 0..<1_000 { share.raise() }
        #expect(share.current == RefusalShare.whole)
    }
}
