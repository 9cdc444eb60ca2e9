import DNSResolver
import Scheduling
import Testing

@Suite
struct EndpointHealthTests {
    private let start = Instant(nanoseconds: 0)

    private func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    /// An address that was just set aside at second 1.
    private func setAside() -> EndpointHealth {
        let health = EndpointHealth()
        for _ in 0..<2 {
            health.began()
            health.failed(began: at(0), now: at(1), severe: false)
        }
        return health
    }

    @Test
    func `one slow question does not set an address aside`() {
        let health = EndpointHealth()
        health.failed(began: at(0), now: at(1), severe: false)
        #expect(health.isUsable(at: at(1)))
    }

    @Test
    func `two failures in a row set it aside for a second`() {
        let health = setAside()
        #expect(!health.isUsable(at: at(1.9)))
        #expect(health.isUsable(at: at(2)))
    }

    @Test
    func `a connection that cannot be made sets it aside at once`() {
        let health = EndpointHealth()
        health.failed(began: at(0), now: at(0.1), severe: true)
        #expect(!health.isUsable(at: at(1)))
    }

    @Test
    func `a success since the failed attempt began speaks for the address`() {
        let health = EndpointHealth()
        health.failed(began: at(0), now: at(1), severe: false)
        health.succeeded(at: at(1.5))
        health.failed(began: at(1), now: at(2), severe: true)
        #expect(health.isUsable(at: at(2)))
    }

    @Test
    func `after the pause one probe is let through, not two`() {
        let health = setAside()
        health.began()
        #expect(!health.isUsable(at: at(3)))
    }

    @Test
    func `an abandoned probe lets the next one through`() {
        let health = setAside()
        health.began()
        health.abandoned()
        #expect(health.isUsable(at: at(3)))
    }

    @Test
    func `failed probes lengthen the pause to two, five and thirty seconds`() {
        let health = setAside()
        var now = 2.0
        for pause in [2.0, 5, 30, 30] {
            health.began()
            health.failed(began: at(now), now: at(now), severe: false)
            #expect(!health.isUsable(at: at(now + pause - 0.1)))
            #expect(health.isUsable(at: at(now + pause)))
            now += pause
        }
    }

    @Test
    func `where it is the last resort it is tried every two seconds`() {
        let health = setAside()
        var now = 2.0
        for pause in [2.0, 2, 2, 2] {
            health.began()
            health.failed(began: at(now), now: at(now), severe: false)
            #expect(!health.isUsableAlone(at: at(now + pause - 0.1)))
            #expect(health.isUsableAlone(at: at(now + pause)))
            now += pause
        }
    }

    @Test
    func `one that said when to come back is left alone even as the last resort`() {
        let health = EndpointHealth()
        health.setAside(until: at(60))
        #expect(!health.isUsableAlone(at: at(59)))
        #expect(health.isUsableAlone(at: at(60)))
    }

    @Test
    func `a refused certificate is news once, until the reason changes or one is accepted`() {
        let health = EndpointHealth()
        #expect(health.refuseCertificate("expired") == true)
        #expect(health.refuseCertificate("expired") == false)
        #expect(health.refuseCertificate("self-signed") == true)
        health.succeeded(at: at(1))
        #expect(health.refusedCertificate == nil)
        #expect(health.refuseCertificate("self-signed") == true)
    }

    @Test
    func `what is known of its speed outlives failures and successes`() {
        let health = setAside()
        health.responseTime.take(.milliseconds(20))
        health.succeeded(at: at(2))
        #expect(health.responseTime.average == .milliseconds(20))
    }

    @Test
    func `one success clears everything`() {
        let health = setAside()
        health.began()
        health.succeeded(at: at(3))
        health.failed(began: at(3.5), now: at(4), severe: false)
        #expect(health.isUsable(at: at(4)))
    }

    @Test
    func `attempts under way when it was set aside do not lengthen the pause`() {
        let health = setAside()
        health.failed(began: at(0.5), now: at(1.5), severe: false)
        #expect(health.isUsable(at: at(2)))
    }

    @Test
    func `while a new network settles a failure sets it aside for 200 ms only, and afterwards as ever`() {
        let health = EndpointHealth()
        health.forget(at: at(10))
        health.began()
        health.failed(began: at(10.05), now: at(10.1), severe: true)
        #expect(!health.isUsable(at: at(10.2)) && health.isUsable(at: at(10.3)))
        health.began()
        health.failed(began: at(12.9), now: at(13), severe: true)
        #expect(!health.isUsable(at: at(13.9)) && health.isUsable(at: at(14)))
    }
}
