import DNSWire
import Scheduling

/// The look-up among shared answers before a flight asks its first provider, and the turn to ask that goes with it.
@Loop
final class SharedTurn {
    /// What a source is asked for once the shared answers are known.
    private struct Ask {
        let place: Int
        let parts: Race.Parts
        let address: Int
    }

    private let flight: Flight
    private var lookUp: (any SharedLookup)?
    /// Nil once the shared answers are known.
    private var asks: [Ask]? = []

    private init(_ flight: Flight) { self.flight = flight }

    /// Begins the look-up; nil when there is nothing to look at, and providers are to be asked at once.
    static func begin(for flight: Flight) -> SharedTurn? {
        guard let shared = flight.policy.lines.shared, case .protect = flight.key.route,
            flight.line.members.contains(where: \.provider.isAuthenticated)
        else { return nil }
        let turn = SharedTurn(flight)
        // Both families, although one may not be wanted: they are one value.
        turn.lookUp = shared.begin(flight.key, flight.types) { turn.received($0) }
        guard turn.lookUp != nil else { return nil }
        flight.key.note(.ask, "the shared cache is asked for \(flight.types.traceText)")
        return turn
    }

    /// Ends the look-up, and gives the turn back.
    func cancel() { lookUp.take()?.cancel() }

    /// Shares what an authenticated provider has answered.
    func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String) {
        lookUp?.share(answer, type, of: provider, from: server)
    }

    /// Whether a source is asked only for what the shared answers leave open.
    func holdsBack(_ place: Int, _ parts: Race.Parts, address: Int) -> Bool {
        asks?.append(Ask(place: place, parts: parts, address: address))
        return asks != nil
    }

    private func received(_ found: [SharedAnswer]) {
        let asks = asks.take() ?? []
        for ask in asks where flight.isRunning { take(found, for: ask) }
    }

    /// Takes what was found of what a source was to be asked, and asks it for the rest.
    private func take(_ found: [SharedAnswer], for ask: Ask) {
        var left = ask.parts
        var said = Race.Replies()
        for answer in found {
            guard let part = flight.part(of: answer.type), left.contains(Race.Parts(part)),
                let reply = take(answer, at: ask.place, part)
            else { continue }
            left.remove(Race.Parts(part))
            said[part] = reply
        }
        if !said.isEmpty { flight.run(.replied(ask.place, said)) }
        if !left.isEmpty, flight.isRunning { flight.ask(ask.place, left, address: ask.address) }
    }

    private func take(_ shared: SharedAnswer, at place: Int, _ part: Race.Part) -> Race.Reply? {
        guard let provider = flight.line.members.first(where: { $0.index == shared.provider })?.provider,
            provider.isAuthenticated
        else { return nil }
        flight.key.note(
            .reply, "the shared cache has \(shared.type), as answered by \(provider.name) (\(shared.server))")
        // What is filtered here may differ from what was where the answer was received.
        let filter = flight.policy.lines.providers.filter
        guard case .answer(let answer) = filter.admitted(.answer(shared.answer), to: flight.key.name) else {
            return nil
        }
        let left = flight.admitted(answer, part)
        flight[part].found.append(
            FlightLane.Found(
                place: place, answer: left, source: .shared(index: shared.provider), server: shared.server,
                sharedFor: shared.remaining))
        return left.said(flight.type(of: part))
    }
}
