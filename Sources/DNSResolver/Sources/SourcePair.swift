import DNSWire
import Scheduling

/// The two sources of one protected name: HTTPDNS and LocalDNS.
@Loop
final class SourcePair {
    /// What is asked, and since when.
    struct Job {
        let key: FlightKey
        /// The indices of the providers that may be asked, best first.
        let providers: [Int]
        let began: Instant
    }

    let clock: any LoopClock
    private let selector: ProviderSelector
    private let localDNS: any Upstream
    private let answerCheck: AnswerCheck?

    nonisolated init(
        _ selector: ProviderSelector, _ localDNS: any Upstream, _ answerCheck: AnswerCheck?, clock: any LoopClock
    ) {
        self.selector = selector
        self.localDNS = localDNS
        self.answerCheck = answerCheck
        self.clock = clock
    }

    /// Why none of the providers could be asked.
    func reasonAgainstProviders(_ job: Job) -> String { selector.providers.reasonAgainst(job.providers) }

    /// Whether an address that LocalDNS gave is verified to be the name's.
    func isVerified(_ job: Job) -> Bool { answerCheck?.isVerified(job.key.name) ?? false }

    /// Creates the attempts at the providers, which may begin until `Budget.lastStart`; `start()` begins the first one.
    func askProviders(_ job: Job, _ types: [RecordType], report: @escaping ProviderAttempts.Report) -> ProviderAttempts
    {
        selector.ask(
            UpstreamQuestion(job.key, types, until: job.began + Budget.lastStart), of: job.providers, report: report)
    }

    /// Asks LocalDNS for one type.
    ///
    /// - Parameters:
    ///   - isFirst: whether LocalDNS goes first: then its answer is taken at once, and checked in the background.
    ///   - received: called once with the response before its check, and the server that sent it; returns whether it is
    ///     to be checked. Not called after `cancel()`.
    ///   - done: called once with what may be used of the response, and the server that sent it; not after `cancel()`.
    func askLocalDNS(
        _ job: Job, _ type: RecordType, isFirst: Bool,
        received: @escaping @Loop (UpstreamResult, _ server: String) -> Bool,
        done: @escaping @Loop (LocalDNSResult, _ server: String) -> Void
    ) -> any Cancellable {
        let (key, began) = (job.key, job.began)
        return SpawnedWork({ [self] () -> (LocalDNSResult, String) in
            let reply = await localDNS.ask(UpstreamQuestion(key, [type], until: began + Budget.answer))
            var result = reply.results[type] ?? .failure(.timeout)
            // The forged address of a portal check is what makes the client show the portal.
            if key.route != .portal { result = selector.filter.admitted(result, to: key.name) }
            guard !Task.isCancelled, received(result, reply.server), let answerCheck else {
                return (LocalDNSResult(result), reply.server)
            }
            let judged =
                isFirst
                ? answerCheck.withoutKnownForgeries(result, to: key, type)
                : await answerCheck.judged(result, to: key, type, began: began)
            return (judged, reply.server)
        }) { done($0.0, $0.1) }
    }
}
