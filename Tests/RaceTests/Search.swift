import DNSResolver
import DNSWire

/// Visits every state that a race may reach in a world, each once, the ones of few events first, and judges each step.
struct Search {
    /// A promise that was broken, with the shortest order of events found that breaks it.
    struct Finding {
        let events: Int
        let text: String
    }

    /// One event on the way to a state.
    private final class Step {
        let now: Int
        let event: RaceEvent
        let effects: [RaceEffect]
        let earlier: Step?

        init(_ event: RaceEvent, at now: Int, _ effects: [RaceEffect] = [], after earlier: Step?) {
            self.now = now
            self.event = event
            self.effects = effects
            self.earlier = earlier
        }

        var text: String { "\(now) ms: \(event) -> \(effects)" }
    }

    private struct State: Hashable {
        var race: Race
        var oracle: Oracle
        /// The clients that have not come yet.
        var later: [RacePart]
        /// Which of the world's times it is.
        var time = 0
        /// How many clients have come.
        var clients = 0
        /// What the cache had when something was last stored: for a change.
        var stored: [RacePart: RaceAnswer] = [:]

        /// So that a set of visited states takes little memory.
        var mark: Int {
            var hasher = Hasher()
            hasher.combine(self)
            return hasher.finalize()
        }
    }

    private struct Entry {
        let state: State
        let events: Int
        let step: Step?
    }

    let world: World
    private let limit: Int
    private var seen: Set<Int> = []
    private var waiting: [Entry] = []
    private(set) var steps = 0
    private(set) var findings: [String: Finding] = [:]

    private(set) var states = 0

    /// - Parameter limit: the most states.
    init(_ world: World, limit: Int = .max) {
        self.world = world
        self.limit = limit
    }

    mutating func run() {
        var state = State(race: Race(world.rules), oracle: Oracle(world), later: world.later)
        var step: Step?
        for part in world.first {
            step = play(.joined(state.clients, part), at: 0, &state, events: 0, after: step) ?? step
            state.clients += 1
        }
        seen.insert(state.mark)
        var queue = [Entry(state: state, events: 0, step: step)]
        defer {
            // Only what was found is needed further.
            states = seen.count
            (queue, waiting, seen) = ([], [], [])
        }
        // By the number of events: those of one number are all visited before those of the next.
        while !queue.isEmpty, seen.count < limit {
            waiting = []
            var index = 0
            while index < queue.count, seen.count < limit {
                visit(queue[index], &queue)
                index += 1
            }
            queue = waiting
        }
    }

    /// Goes on from a state: to the next time, and to whatever may happen now, before and after what is due now.
    private mutating func visit(_ entry: Entry, _ queue: inout [Entry]) {
        let now = world.times[entry.state.time]
        pass(entry, &queue)
        var starts = [(entry.state, entry.step)]
        if entry.state.race.wake == instant(now) {
            var ticked = entry.state
            let step = play(.time, at: now, &ticked, events: entry.events, after: entry.step)
            if let step { starts.append((ticked, step)) }
        }
        for (start, step) in starts {
            for event in events(in: start) {
                var next = start
                switch event {
                case .joined(_, let part), .joinedLate(_, let part):
                    next.clients += 1
                    if let place = next.later.firstIndex(of: part) { next.later.remove(at: place) }
                default: break
                }
                guard let step = play(event, at: now, &next, events: entry.events + 1, after: step) else { continue }
                keep(next, entry.events + 1, step)
            }
            guard world.change != nil, !start.oracle.hasChanged, start.oracle.began != nil else { continue }
            var next = start
            if let step = change(at: now, &next, entry.events + 1, after: step) { keep(next, entry.events + 1, step) }
        }
    }

    private mutating func keep(_ state: State, _ events: Int, _ step: Step) {
        if seen.insert(state.mark).inserted { waiting.append(Entry(state: state, events: events, step: step)) }
    }

    /// Lets time pass to the next of the world's times.
    private mutating func pass(_ entry: Entry, _ queue: inout [Entry]) {
        var (state, step) = (entry.state, entry.step)
        let isLast = state.time + 1 == world.times.count
        let end = isLast ? world.times[state.time] + 3_000 : world.times[state.time + 1]
        var due: Instant? = instant(world.times[state.time])
        while let now = due, now < instant(end) {
            guard let next = play(.time, at: milliseconds(now), &state, events: entry.events, after: step) else {
                return
            }
            step = next
            due = state.race.wake
        }
        if isLast {
            report(state.oracle.atEnd(), events: entry.events, step)
        } else {
            state.time += 1
            if seen.insert(state.mark).inserted { queue.append(Entry(state: state, events: entry.events, step: step)) }
        }
    }

    /// Plays one event; nil when it breaks a promise.
    private mutating func play(
        _ event: RaceEvent, at now: Int, _ state: inout State, events: Int, after step: Step?
    ) -> Step? {
        steps += 1
        state.oracle.note(event, at: now)
        return judge(state.race.apply(event, at: instant(now)), of: event, at: now, &state, events, after: step)
    }

    /// Section 7: the race ends, and those that wait begin another one, as what runs it has them do.
    private mutating func change(at now: Int, _ state: inout State, _ events: Int, after step: Step?) -> Step? {
        steps += 1
        let rules = rules(after: world.change, state)
        let clients = state.oracle.change(rules)
        state.stored = state.stored.filter { world.change == .policy && $0.value.rank == .provider }
        state.race = Race(rules, ends: clients.isEmpty ? Instant(nanoseconds: .max) : instant(state.oracle.end))
        var effects: [RaceEffect] = []
        for (client, part) in clients {
            state.oracle.note(.joinedLate(client, part), at: now)
            effects += state.race.apply(.joinedLate(client, part), at: instant(now))
        }
        return judge(effects, of: .time, at: now, &state, events, after: step)
    }

    private mutating func judge(
        _ effects: [RaceEffect], of event: RaceEvent, at now: Int, _ state: inout State, _ events: Int,
        after step: Step?
    ) -> Step? {
        for case .store(let part, let answer) in effects where world.change != nil { state.stored[part] = answer }
        for case .drop(let part) in effects { state.stored[part] = nil }
        let broken = state.oracle.judge(effects, at: now)
        if event == .time, effects.isEmpty, broken.isEmpty { return step ?? Step(event, at: now, after: nil) }
        let next = Step(event, at: now, effects, after: step)
        report(broken, events: events, next)
        return broken.isEmpty ? next : nil
    }

    private mutating func report(_ broken: [String], events: Int, _ step: Step?) {
        for promise in broken where findings[promise].map({ $0.events > events }) ?? true {
            var lines: [String] = []
            var step = step
            while let current = step {
                lines.append(current.text)
                step = current.earlier
            }
            findings[promise] = Finding(events: events, text: lines.reversed().joined(separator: "\n  "))
        }
    }

    // MARK: What may happen

    private func events(in state: State) -> [RaceEvent] {
        let oracle = state.oracle
        var events: [RaceEvent] = state.later.map { .joined(state.clients, $0) }
        // One that had waited.
        if world.hasLate { events += state.later.map { .joinedLate(state.clients, $0) } }
        for place in oracle.line.indices {
            if oracle.health[place] == .probed {
                events += [.probed(place, isUp: true), .probed(place, isUp: false)]
            }
            events += place == oracle.local ? localReplies(place, oracle) : replies(place, oracle)
        }
        for part in Oracle.parts {
            for address in oracle[part].checking.sorted() {
                let verdicts = oracle[part].isOver ? [.forged] : world.verdicts
                events += verdicts.map { .checked(part, address, $0) }
            }
            for client in oracle[part].waiting {
                if world.hasLate { events.append(.timeUp(client.number)) }
            }
        }
        return events
    }

    /// The types that the source still owes.
    private func owed(_ place: Int, _ oracle: Oracle) -> [RacePart] {
        let isAnyOpen = Oracle.parts.contains { oracle[$0].isOpen && !oracle[$0].isOver }
        return Oracle.parts.filter {
            let isNeeded = oracle[$0].isOpen ? !oracle[$0].isOver : isAnyOpen
            return [.asked, .busy].contains(oracle[$0].sources[place]) && isNeeded
        }
    }

    private func localReplies(_ place: Int, _ oracle: Oracle) -> [RaceEvent] {
        owed(place, oracle).filter { world.types.contains($0) }.flatMap { part in
            world.localReplies.map { reply in
                guard let reply else { return .failed(place, RaceParts(part)) }
                return .replied(place, a: part == .a ? reply : nil, aaaa: part == .aaaa ? reply : nil)
            }
        }
    }

    private func replies(_ place: Int, _ oracle: Oracle) -> [RaceEvent] {
        let owed = owed(place, oracle)
        guard !owed.isEmpty else { return [] }
        var events: [RaceEvent] = []
        for parts in oracle.line[place].answersBoth ? [owed] : owed.map({ [$0] }) {
            let types = parts.reduce(into: RaceParts()) { $0.insert(RaceParts($1)) }
            for a in types.contains(.a) ? world.replies.map(Optional.some) : [nil] {
                for aaaa in types.contains(.aaaa) ? world.replies.map(Optional.some) : [nil] {
                    events.append(.replied(place, a: a, aaaa: aaaa))
                }
            }
            if world.troubles.contains(.fails) { events.append(.failed(place, types)) }
            if world.troubles.contains(.refuses) { events.append(.refused(place, types)) }
            if world.troubles.contains(.busy), parts.contains(where: { oracle[$0].sources[place] == .asked }) {
                events.append(.busy(place, types))
            }
        }
        return events
    }

    /// Section 7: what is known after a change.
    private func rules(after change: World.Change?, _ state: State) -> RaceRules {
        var stale: [RacePart: RaceRules.Stale] = world.stale.map { [.a: $0] } ?? [:]
        var cached: [RacePart: RaceRules.Cached] = [:]
        for (part, answer) in state.stored {
            switch change {
            case .network where answer.rank <= .verified: stale[part] = RaceRules.Stale(answer.kind, isYoung: true)
            case .policy where answer.rank == .provider: cached[part] = RaceRules.Cached(.provider, answer.kind)
            default: break
            }
        }
        return world.rules(stale: stale, cached: cached)
    }

    private func instant(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

    private func milliseconds(_ instant: Instant) -> Int { Int(instant.nanoseconds / 1_000_000) }
}
