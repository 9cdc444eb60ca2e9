import Platform
import Testing

@Suite struct UTCTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (1_767_225_599_001, "2025-12-31T23:59:59.001Z"),
    ])
    func `times are ISO 8601`(milliseconds: Int64, text: String) {
        #expect(UTCTime(milliseconds: milliseconds).description == text)
    }
}
