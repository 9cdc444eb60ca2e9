import DNSWire

/// The look-up among shared answers before a flight asks its first provider, and the turn to ask that goes with it.
@Loop
final class SharedTurn {
    /// What a source is asked for once the shared answers are known.
    struct Ask {
        let place: Int
        let parts: RaceParts
        let address: Int
    }

    private let answers: FlightAnswers
    private let shared: any SharedAnswers
    private var lookUp: (any SharedLookup)?
    /// Nil once the shared answers are known.
    private var asks: [Ask]? = []

    init(for answers: FlightAnswers, _ shared: any SharedAnswers) { (self.answers, self.shared) = (answers, shared) }

    /// Begins the look-up, if there is anything to look up. Calls `done` once, never before this returns, with the answers
    /// found; not after `cancel()`.
    func begin(done: @escaping @Loop ([SharedAnswer]) -> Void) -> Bool {
        // Both families, although one may not be wanted: they are one value.
        lookUp = shared.begin(answers.key, answers.types, done: done)
        guard lookUp != nil else { return false }
        answers.key.trace.note(.ask, "the shared cache is asked for \(answers.types.traceText)")
        return true
    }

    /// Ends the look-up, and gives the turn back.
    func cancel() { lookUp.take()?.cancel() }

    /// Shares what an authenticated provider has answered.
    func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String) {
        lookUp?.share(answer, type, of: provider, from: server)
    }

    /// Whether a source is asked only for what the shared answers leave open.
    func holdsBack(_ place: Int, _ parts: RaceParts, address: Int) -> Bool {
        asks?.append(Ask(place: place, parts: parts, address: address))
        return asks != nil
    }

    /// What was held back, once the shared answers are known. From then on nothing is.
    func takeAsks() -> [Ask] { asks.take() ?? [] }

    /// Takes what was found of what a source was to be asked: what that says, and what is still to be asked for.
    func take(_ found: [SharedAnswer], for ask: Ask) -> (replies: RaceReplies, left: RaceParts) {
        var left = ask.parts
        var said = RaceReplies()
        for answer in found {
            guard let part = answers.part(of: answer.type), left.contains(RaceParts(part)),
                let reply = take(answer, at: ask.place, part)
            else { continue }
            left.remove(RaceParts(part))
            said[part] = reply
        }
        return (said, left)
    }

    private func take(_ shared: SharedAnswer, at place: Int, _ part: RacePart) -> RaceReply? {
        guard let provider = answers.line.members.first(where: { $0.index == shared.provider })?.provider,
            provider.isAuthenticated
        else { return nil }
        answers.key.trace.note(
            .reply, "the shared cache has \(shared.type), as answered by \(provider.name) (\(shared.server))")
        // What is filtered here may differ from what was where the answer was received.
        let filter = answers.policy.lines.filter
        guard case .answer(let answer) = filter.admitted(.answer(shared.answer), shared.type, to: answers.key)
        else { return nil }
        let left = answers.admitted(answer, part)
        answers[part].found.append(
            FlightLane.Found(
                place: place, answer: left, source: .shared(index: shared.provider), server: shared.server,
                sharedFor: shared.remaining))
        return left.said(answers.type(of: part))
    }
}
