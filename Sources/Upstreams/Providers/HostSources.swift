public import DNSResolver
public import DNSWire

/// What hosts of services are looked up by: the providers whose own addresses are known, in their order, and LocalDNS
/// last. Never by ourselves, since we may need the service to answer.
///
/// Any of them may return forged addresses: the service's certificate decides.
@Loop
public final class HostSources {
    /// The most addresses of a provider that are asked for one host.
    private static let mostEndpoints = 2

    private let localDNS: any Upstream
    /// The providers that are asked: none whose own host is looked up, so that none waits for itself, nor two for each other.
    public var providers: [any Provider] = []
    /// Decides which hosts providers may hear of; nil: of all.
    public var routes: RoutePolicy?

    /// - Parameter localDNS: must not forward to us.
    public nonisolated init(localDNS: any Upstream) { self.localDNS = localDNS }

    /// Asks for the addresses of a host: one source after the other until one has an address, or all at once. Returns the
    /// replies, those of the better sources first, and whether every source was asked.
    func replies(
        about host: Name, asksAll: Bool, until deadline: Instant, at now: Instant
    ) async -> (replies: [UpstreamReply], areAll: Bool) {
        let able =
            routes?.mayTellProviders(of: host) == false
            ? [] : providers.filter { $0.serves(host) && $0.unavailability == nil && !$0.access.isActive }
        var question = UpstreamQuestion(name: host, types: [.a, .aaaa], deadline: deadline)
        if asksAll { return (await allReplies(of: able, to: question, at: now), true) }
        // While HTTPDNS is off, no provider is asked for what LocalDNS knows; but where LocalDNS forges the host of the signed
        // policy, only a provider leads to the policy that switches HTTPDNS on again.
        let first = routes?.mode == .localDNSOnly ? [] : able
        // Half of the time is LocalDNS's.
        let share = (deadline - now) / max(1, 2 * first.count)
        for (number, provider) in first.enumerated() {
            question.deadline = now + share * (number + 1)
            let reply = await reply(of: provider, to: question, within: share)
            if reply.hasAddress { return ([reply], false) }
        }
        question.deadline = deadline
        return ([await reply(at: localDNS, to: question)], first.count == able.count)
    }

    private func allReplies(
        of able: [any Provider], to question: UpstreamQuestion, at now: Instant
    ) async -> [UpstreamReply] {
        await withTaskGroup(of: (Int, UpstreamReply).self) { group in
            for (number, provider) in able.enumerated() {
                group.addTask {
                    (number, await self.reply(of: provider, to: question, within: question.deadline - now))
                }
            }
            group.addTask { (able.count, await self.reply(at: self.localDNS, to: question)) }
            var replies: [(Int, UpstreamReply)] = []
            for await reply in group { replies.append(reply) }
            return replies.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Asks at one address of a provider after the other, until one replies.
    private func reply(
        of provider: any Provider, to question: UpstreamQuestion, within time: Duration
    ) async -> UpstreamReply {
        let endpoints = provider.endpoints.filter(\.health.isUsable).prefix(Self.mostEndpoints)
        var last = UpstreamReply(failure: .timeout, types: question.types)
        for (number, endpoint) in endpoints.enumerated() {
            var question = question
            question.deadline = question.deadline - time / endpoints.count * (endpoints.count - 1 - number)
            last = provider.answersBothFamilies ? await endpoint.ask(question) : await reply(at: endpoint, to: question)
            if last.hasAnswer { break }
        }
        return last
    }

    /// Asks for one family at a time, both at once.
    private func reply(at source: any Upstream, to question: UpstreamQuestion) async -> UpstreamReply {
        var (first, second) = (question, question)
        (first.types, second.types) = ([.a], [.aaaa])
        async let other = source.ask(second)
        var reply = await source.ask(first)
        reply.results[.aaaa] = await other.results[.aaaa]
        return reply
    }
}

extension UpstreamReply {
    fileprivate var answers: [Answer] {
        [results[.a], results[.aaaa]].compactMap { if case .answer(let answer)? = $0 { answer } else { nil } }
    }

    /// Whether there is an answer, be it that there is no address.
    fileprivate var hasAnswer: Bool { !answers.isEmpty }

    fileprivate var hasAddress: Bool { answers.contains { !$0.addresses.isEmpty } }
}
