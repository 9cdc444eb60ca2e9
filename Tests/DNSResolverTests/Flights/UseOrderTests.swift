import DNSResolver
import Testing

/// Units in the order of their last use.
struct UseOrderTests {
    private func order(_ tickets: [FairShare.Ticket]) -> UseOrder {
        var order = UseOrder()
        for ticket in tickets { order.add(ticket) }
        return order
    }

    private func all(_ order: UseOrder) -> [FairShare.Ticket] {
        Array(sequence(first: order.first) { $0.map(order.next(after:)) }.prefix { $0 != nil }.compactMap { $0 })
    }

    @Test func `a unit that is used becomes the last one`() {
        var order = order([3, 1, 2])
        order.renew(3)
        #expect(all(order) == [1, 2, 3])
        #expect(order.last == 3)
    }

    @Test func `one that was removed is not among them, and not the last one`() {
        var order = order([3, 1, 2])
        order.remove(2)
        #expect(all(order) == [3, 1])
        #expect(order.last == nil)
        order.renew(2)
        #expect(all(order) == [3, 1])
        #expect(order.last == nil)
    }

    @Test func `the last one may be used again and again`() {
        var order = order([3, 1])
        for _ in 0..<3 { order.renew(1) }
        #expect(all(order) == [3, 1])
        #expect(order.last == 1)
    }
}
