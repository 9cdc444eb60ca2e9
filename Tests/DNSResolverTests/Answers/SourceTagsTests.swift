import TestUpstreams
import Testing

@testable import DNSResolver

/// The numbers of sources in cache entries.
struct SourceTagsTests {
    private static let sources: [Source] = [
        .rule, .preset, .localDNS, .verifiedLocalDNS, .forward(index: 0), .forward(index: 1), .provider(index: 0),
        .provider(index: 1), .shared(index: 0), .shared(index: 1),
    ]

    @Test func `each source has a number of its own, by which it is found again`() {
        let tags = SourceTags(forwards: 2, providers: 2)
        #expect(Self.sources.map { tags.source(of: tags.tag(of: $0)) } == Self.sources)
        #expect(Set(Self.sources.map(tags.tag)).count == Self.sources.count)
        let providers = Self.sources.filter { SourceTags.isProvider(tags.tag(of: $0)) }
        #expect(providers == Self.sources.suffix(4))
        let trusted = Self.sources.filter { SourceTags.isTrusted(tags.tag(of: $0)) }
        #expect(trusted == [.verifiedLocalDNS] + providers)
    }

    @Test func `by the number of a source that no longer exists none is found`() {
        let (before, after) = (SourceTags(forwards: 2, providers: 2), SourceTags(forwards: 1, providers: 0))
        #expect(after.source(of: before.tag(of: .provider(index: 0))) == nil)
        #expect(after.source(of: before.tag(of: .forward(index: 1))) == nil)
        #expect(before.source(of: 0x8fff) == nil && before.source(of: 0x0fff) == nil)
    }

    @Test func `there are 16,382 numbers, none twice, and then the last one is reused`() {
        var numbers = SourceTags.Numbers()
        #expect(numbers.left == 16_382)
        let given = (0..<16_382).map { _ in numbers.next() }
        #expect(numbers.left == 0 && Set(given).count == given.count)
        #expect(!given.contains(SourceTags.rule) && !given.contains(SourceTags.preset))
        #expect(numbers.next() == given.last)
    }
}
