package import DNSResolver
package import DNSWire

/// How a fake source treats one question.
package enum FakeBehaviour: Sendable {
    /// Responds after a time on the test's clock.
    case reply(after: Duration, [RecordType: UpstreamResult])
    /// Never replies: the caller's deadline ends the attempt.
    case silence

    /// Every type asked for has the addresses of its family, by default with TTL 60; a family without addresses is an
    /// explicit NODATA.
    package static func addresses(_ texts: String..., after delay: Duration = .zero, ttl: UInt32 = 60) -> FakeBehaviour
    {
        .addressList(texts, after: delay, ttl: ttl)
    }

    /// The same with a list.
    package static func addressList(_ texts: [String], after delay: Duration, ttl: UInt32) -> FakeBehaviour {
        var results: [RecordType: UpstreamResult] = [:]
        for type in [RecordType.a, .aaaa] {
            let addresses = texts.compactMap { IPAddress($0) }.filter { $0.recordType == type }
            results[type] = .answer(
                addresses.isEmpty
                    ? .negative(name: .root, ttl: ttl) : Answer(name: .root, addresses: addresses, ttl: ttl))
        }
        return .reply(after: delay, results)
    }

    /// Every type fails.
    package static func failure(_ failure: UpstreamFailure, after delay: Duration = .zero) -> FakeBehaviour {
        .reply(after: delay, [.a: .failure(failure), .aaaa: .failure(failure)])
    }

    /// Both families are denied.
    package static func denial(_ code: ResponseCode = .nameError, ttl: UInt32 = 60) -> FakeBehaviour {
        let denial = UpstreamResult.answer(.negative(code, name: .root, ttl: ttl))
        return .reply(after: .zero, [.a: denial, .aaaa: denial])
    }

    /// Every type is an indeterminate empty response.
    package static func unknown(after delay: Duration = .zero) -> FakeBehaviour {
        .reply(after: delay, [.a: .indeterminateEmpty(ttl: nil), .aaaa: .indeterminateEmpty(ttl: nil)])
    }
}

/// A source on the test's clock: LocalDNS, a forwarder, or one address of a provider.
@Loop
package final class FakeUpstream: Endpoint {
    package nonisolated let name: String
    package let health = AddressHealth()
    /// How the next question is treated.
    package var behaviour: FakeBehaviour
    /// Additional delay of questions for one type only.
    package var slow: [RecordType: Duration] = [:]
    /// When it says "not so fast" of each further question.
    package var delay: Duration?
    /// Every question, in order.
    package private(set) var asked: [UpstreamQuestion] = []
    /// How the next probe is treated; nil: like a question.
    package var probeBehaviour: FakeBehaviour?
    /// When probes arrived.
    package private(set) var probes: [Instant] = []
    /// The number of times that its connections were retired.
    package private(set) var retirements = 0
    private let clock: any LoopClock

    package nonisolated init(_ name: String, _ behaviour: FakeBehaviour, clock: any LoopClock) {
        self.name = name
        self.behaviour = behaviour
        self.clock = clock
    }

    package func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        if let delay { _ = clock.schedule(after: delay) { delayed() } }
        return SpawnedWork(
            { [self] in
                asked.append(question)
                return await reply(to: question, behaviour)
            }, done: done)
    }

    package func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        probes.append(clock.now)
        let question = UpstreamQuestion(
            name: .root, types: [.a], deadline: min(deadline, clock.now + .seconds(1)))
        return SpawnedWork({ [self] in await reply(to: question, probeBehaviour ?? behaviour) }, done: done)
    }

    package func retireConnections() { retirements += 1 }

    private func reply(to question: UpstreamQuestion, _ behaviour: FakeBehaviour) async -> UpstreamReply {
        guard case .reply(let usual, let results) = behaviour else {
            let expired = await clock.sleep(until: question.deadline)
            return UpstreamReply(failure: expired ? .timeout : .cancelled, types: question.types)
        }
        let delay = usual + (question.types.count == 1 ? slow[question.types[0]] ?? .zero : .zero)
        let due = min(clock.now + delay, question.deadline)
        if due > clock.now, !(await clock.sleep(until: due)) {
            return UpstreamReply(failure: .cancelled, types: question.types)
        }
        guard due < question.deadline || delay == .zero else {
            return UpstreamReply(failure: .timeout, types: question.types)
        }
        health.measured(delay)
        return UpstreamReply(question.types) { owned(results[$0], by: question.name) }
    }

    /// Gives records without an owner the name asked for.
    private func owned(_ result: UpstreamResult?, by name: Name) -> UpstreamResult {
        guard case .answer(var answer)? = result else { return result ?? .failure(.responseCode(.notImplemented)) }
        for index in answer.answers.indices where answer.answers[index].name.isRoot {
            answer.answers[index].name = name
        }
        for index in answer.authorities.indices where answer.authorities[index].name.isRoot {
            answer.authorities[index].name = name
        }
        return .answer(answer)
    }
}

/// A provider of fake addresses.
@Loop
package final class FakeProvider: Provider {
    package nonisolated let name: String
    package nonisolated let answersBothFamilies: Bool
    package nonisolated let names: [Name]
    package nonisolated let isAuthenticated: Bool
    package nonisolated let clientScoping: ClientScoping?
    private nonisolated let anyType: Bool
    package nonisolated let takesCheckingDisabled: Bool
    package nonisolated let mayHedge: Bool
    package var access = Backoff()
    package var unavailability: String?
    package var callShare: Int?
    /// How many questions left it out.
    package private(set) var leftOutCount = 0
    package var waitingRequests = 0
    package let addresses: [FakeUpstream]

    package nonisolated init(
        _ name: String, addresses: [FakeUpstream], answersBothFamilies: Bool = true, anyType: Bool = false,
        names: [Name] = [], isAuthenticated: Bool = true, clientScoping: ClientScoping? = nil, mayHedge: Bool = true,
        takesCheckingDisabled: Bool = false
    ) {
        self.name = name
        self.addresses = addresses
        self.answersBothFamilies = answersBothFamilies
        self.anyType = anyType
        self.takesCheckingDisabled = takesCheckingDisabled || anyType
        self.names = names
        self.isAuthenticated = isAuthenticated
        self.clientScoping = clientScoping
        self.mayHedge = mayHedge
    }

    package func leftOut() { leftOutCount += 1 }

    package nonisolated func answers(_ type: RecordType) -> Bool { anyType ? !type.isMeta : type.isAddress }

    package var endpoints: [any Endpoint] { addresses }
}

extension SourceTags {
    /// Numbers for all sources of a policy that replaces none.
    package init(forwards: Int, providers: Int) {
        var numbers = Numbers()
        let localDNS = numbers.next()
        self.init(
            localDNS: localDNS, forwards: (0..<forwards).map { _ in numbers.next() },
            providers: (0..<providers).map { _ in numbers.nextProvider() })
    }
}
