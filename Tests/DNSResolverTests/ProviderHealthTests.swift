import DNSResolver
import Scheduling
import Testing

@Suite
struct ProviderHealthTests {
    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test
    func `a refused account is left alone for 30 s, doubled up to 10 min`() {
        var health = ProviderHealth()
        var now = 0.0
        for pause in [30.0, 60, 120, 240, 480, 600, 600] {
            #expect(health.refused(at: at(now)) == .seconds(pause))
            #expect(!health.isUsable(at: at(now + pause - 0.1)))
            now += pause
            #expect(health.isUsable(at: at(now)))
        }
    }

    @Test
    func `of a thousand questions at the end of the pause one is let through`() {
        var health = ProviderHealth()
        _ = health.refused(at: at(0))
        var asked = 0
        for _ in 0..<1_000 where health.isUsable(at: at(30)) {
            asked += 1
            health.began(at: at(30))
        }
        #expect(asked == 1)
    }

    @Test
    func `a probe of which nothing is heard does not shut the provider out for ever`() {
        var health = ProviderHealth()
        _ = health.refused(at: at(0))
        health.began(at: at(30))
        #expect(!health.isUsable(at: at(31)))
        #expect(health.isUsable(at: at(33)))
    }

    @Test
    func `questions under way when it was refused do not lengthen the pause`() {
        var health = ProviderHealth()
        _ = health.refused(at: at(0))
        #expect(health.refused(at: at(0.1)) == nil)
        #expect(health.isUsable(at: at(30)))
    }

    @Test
    func `one answer clears everything`() {
        var health = ProviderHealth()
        for second in [0.0, 30, 90] { _ = health.refused(at: at(second)) }
        health.succeeded()
        #expect(health.isUsable(at: at(91)))
        #expect(health.refused(at: at(92)) == .seconds(30))
    }
}
