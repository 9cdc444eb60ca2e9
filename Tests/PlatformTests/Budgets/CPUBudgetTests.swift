import Platform
import Testing

@Suite struct CPUBudgetTests {
    @Test(
        arguments: [
            (1, nil, 1), (2, nil, 2), (64, nil, 4), (0, nil, 1), (-22, nil, 1), (8, 2.0, 2), (8, 1.5, 2), (8, 0.1, 1),
            (2, 3.0, 2),
            (8, 1e300, 4),
        ] as [(Int, Double?, Int)])
    func `threads are bounded by four, by affinity and by the ceiling of the quota`(
        affinity: Int, quota: Double?, expected: Int
    ) {
        #expect(ControlGroups.threads(affinity: affinity, quota: quota) == expected)
    }
}
