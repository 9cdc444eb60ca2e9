import DNSResolver
import Testing

/// The same world twice: what comes earlier, or another client, makes no reply worse.
struct ComparisonTests {
    @Test("a provider's answer that comes earlier gives no client a worse rank", arguments: Vector.all.indices)
    func earlierAnswer(number: Int) {
        let vector = Vector.all[number]
        let before = Replay(vector, vector.events)
        for (index, event) in vector.events.enumerated() where event.event[0].text == "reply" {
            let source = event.event[1].text
            let types = event.event[2].array.map { $0.array[0].text }
            let asked = types.compactMap { before.askedAt["\(source) \($0)"] }.max() ?? event.at
            var events = vector.events
            events.remove(at: index)
            let earlier = (at: min(asked + 1, event.at), event: event.event)
            events.insert(earlier, at: events.firstIndex { $0.at > earlier.at } ?? events.endIndex)
            expectNoWorse(Replay(vector, events), than: before, "\(source) earlier in: \(vector.name)")
        }
    }

    @Test("without another client no client would have a better rank", arguments: Vector.all.indices)
    func anotherClient(number: Int) {
        let vector = Vector.all[number]
        let both = Replay(vector, vector.events)
        let joins = vector.events.filter { $0.event[0].text == "join" }
        for join in joins.dropFirst() {
            let client = join.event[1].text
            // What becomes of the others' questions, with all else as it was.
            let events = vector.events.filter { event in
                !(["join", "leave", "late"].contains(event.event[0].text) && event.event[1].text == client)
            }
            expectNoWorse(both, than: Replay(vector, events), "with \(client) in: \(vector.name)")
        }
    }

    private func expectNoWorse(_ one: Replay, than other: Replay, _ comment: Comment) {
        for (client, before) in other.given {
            guard let after = one.given[client] else { continue }
            #expect(after.rank <= before.rank, "\(client), \(comment)")
        }
    }
}
