import DNSWire
import Testing

@testable import Upstreams

struct SpareWindowTests {
    private final class Address {}

    private func at(_ seconds: Int) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Test func `a spare is retained for five minutes of traffic, and no longer`() {
        let address = ObjectIdentifier(Address.self)
        var window = SpareWindow()
        let open = (0..<10).map { window.isOpen(after: address, at: at($0 * 60)) }
        #expect(open == [true, true, true, true, true, false, false, false, false, false])
    }

    @Test func `after a pause, and with another address, the time restarts`() {
        let (one, other) = (ObjectIdentifier(Address.self), ObjectIdentifier(SpareWindow.self))
        var window = SpareWindow()
        for second in stride(from: 0, through: 400, by: 100) { _ = window.isOpen(after: one, at: at(second)) }
        #expect(window.isOpen(after: one, at: at(450)) == false)
        #expect(window.isOpen(after: other, at: at(460)) == true)
        #expect(window.isOpen(after: other, at: at(1_000)) == true)
    }
}
