public import DNSResolver
public import DNSWire

/// Finds out by which prefix the network translates IPv4 addresses: LocalDNS is asked for AAAA of ipv4only.arpa (RFC 7050), at
/// the start, in another network, and before the answer's time is over.
///
/// LocalDNS may be hijacked, and the prefix decides where clients connect. So LocalDNS is not asked and no prefix is used
/// while it is not wanted, which is while the machine has a way to IPv4 of its own; and what LocalDNS has not confirmed for
/// a while is not used either.
@Loop
public final class PrefixDiscovery {
    /// Bounds of the time between two look-ups, whatever the TTL says.
    nonisolated static let refreshInterval: ClosedRange<Duration> = .seconds(60)...(.seconds(600))
    /// A prefix that was not confirmed for so many of these times is dropped.
    static let longestUse = 3
    /// The pauses after look-ups without success.
    nonisolated static let retryInterval: ClosedRange<Duration> = .seconds(1)...(.seconds(300))
    /// How long a look-up may take.
    static let timeout: Duration = .seconds(3)

    /// Begins to ask LocalDNS, as `Upstream.begin` does.
    public typealias Ask = @Loop (UpstreamQuestion, @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable

    /// What is known now; `.none` until `begin()`.
    public private(set) var translation = Translation.none
    private let clock: any LoopClock
    private let ask: Ask
    private let onChange: @Loop (Translation) -> Void
    private var lookup: (any Cancellable)?
    private var backoff: Backoff
    /// When the prefix in use is dropped unless it is confirmed before.
    private var end = Instant(nanoseconds: .min)
    private var timer: LoopTimer?

    /// - Parameter onChange: called with what is known now, whenever that changes.
    public nonisolated init(clock: any LoopClock, ask: @escaping Ask, onChange: @escaping @Loop (Translation) -> Void) {
        self.clock = clock
        backoff = Backoff(Self.retryInterval)
        self.ask = ask
        self.onChange = onChange
    }

    /// Starts over without the prefix that was found, for another network or LocalDNS; ends where it is not wanted.
    public func begin(isWanted: Bool) {
        lookup.take()?.cancel()
        backoff.succeeded()
        timer.take()?.cancel()
        set(isWanted ? .awaited : .none)
        if isWanted { lookUp() }
    }

    private func lookUp() {
        let question = UpstreamQuestion(
            name: NetworkNames.ipv4Only, types: [.aaaa], deadline: clock.now + Self.timeout)
        lookup = ask(question) { [weak self] in self?.received($0.results[.aaaa]) }
    }

    private func received(_ result: UpstreamResult?) {
        guard case .answer(let answer)? = result else { return retry() }
        backoff.succeeded()
        let ttl = answer.answers.map(\.ttl).min() ?? answer.translationTTL
        let lifetime = min(max(.seconds(Int64(ttl)), Self.refreshInterval.lowerBound), Self.refreshInterval.upperBound)
        end = clock.now + lifetime * Self.longestUse
        lookUpAgain(at: clock.now + lifetime)
        set(chosen(of: NAT64Prefix.prefixes(in: answer.addresses)))
    }

    /// The prefix in use stays while the network has it; of several the order of the records, which may rotate, decides nothing.
    private func chosen(of prefixes: [NAT64Prefix]) -> Translation {
        if case .prefix(let prefix) = translation, prefixes.contains(prefix) { return translation }
        return prefixes.min { $0.description < $1.description }.map(Translation.prefix) ?? .none
    }

    /// A prefix that was found stays in use for a while: silence denies nothing.
    private func retry() {
        let now = clock.now
        let next = now + backoff.failed(at: now)
        if now >= end { set(.none) }
        lookUpAgain(at: now < end ? min(next, end) : next)
    }

    private func lookUpAgain(at time: Instant) {
        timer = clock.schedule(at: time) { [weak self] in self?.lookUp() }
    }

    private func set(_ translation: Translation) {
        guard translation != self.translation else { return }
        self.translation = translation
        onChange(translation)
    }
}
