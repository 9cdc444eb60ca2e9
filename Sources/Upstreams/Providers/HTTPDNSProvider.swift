public import DNSResolver
public import DNSWire
import HTTPDNS
public import Platform

/// One configured HTTPDNS provider: a service's wire format, and the addresses where it is reached.
@Loop
public final class HTTPDNSProvider: Provider {
    public nonisolated let name: String
    public nonisolated let names: [Name]
    public nonisolated let answersBothFamilies: Bool
    public nonisolated let mayHedge: Bool
    public var access = Backoff()
    private nonisolated let settings: HTTPDNSSettings
    private let loop: EventLoop
    private let paths: NetworkPaths
    /// Its time, its calls and what they cost.
    public let account: ProviderAccount
    /// Looks up the host; nil if addresses are configured.
    private let lookup: HostAddresses?
    /// Asks the service for its addresses; nil if it has no such call.
    private let schedule: ScheduledAddresses?
    /// The addresses configured, last looked up, or last returned by the service, in the order received.
    private var listed: [SocketAddress] = []
    /// The endpoints of `listed`, those with a route first.
    private var current: [HTTPDNSEndpoint] = []
    /// Earlier addresses that have answered: used beside the current ones until one of those answers.
    ///
    /// The last look-up may have been a forged response, or the service's own list a mistake, while these are verified
    /// as the service's. They are never more than were current at one time: when one of the current ones answers, the
    /// older ones are dropped.
    private var verified: [HTTPDNSEndpoint] = []
    /// The first current one, the verified ones, and the other current ones: as a query's hedge a verified one is
    /// reached however many forged addresses there are.
    private var known: [HTTPDNSEndpoint] = []
    /// The known ones in the order in which they are asked: those of another family than the first one's last. Vendors want
    /// their IPv6 addresses to be used only where there is no IPv4.
    private var ordered: [any Endpoint] = []
    private var spareWindow = SpareWindow()
    /// The offset of the service's clock that `onLearned` was last called with.
    private var reportedOffset: Int64 = 0
    /// Used until the first address is known.
    private var unknown: BootstrapEndpoint?

    /// - Parameters:
    ///   - bootstrap: looks up the service's host if no address is configured.
    ///   - paths: says which addresses are unreachable now, and are therefore not tried.
    ///   - timeOfDay: seconds since 1970, for signatures and the quota.
    ///   - report: called with events for operators: the service's clock, the quota, the results of scheduling
    ///     calls.
    public init(
        _ settings: HTTPDNSSettings, loop: EventLoop, bootstrap: HostSources, paths: NetworkPaths = NetworkPaths(),
        timeOfDay: @escaping @Sendable () -> Int64, report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        name = settings.name
        names = settings.names
        answersBothFamilies = settings.format.answersBothFamilies
        mayHedge = settings.mayHedge
        self.settings = settings
        self.loop = loop
        self.paths = paths
        let account = ProviderAccount(
            provider: settings.name, clock: ProviderClock(isAuthenticated: settings.origin.scheme == .https, timeOfDay),
            calls: CallQuota(dailyLimit: settings.dailyLimit, monthlyLimit: settings.monthlyLimit),
            unitsOfAnswer: settings.unitsOfAnswer, report: report)
        self.account = account
        // Over http nothing would verify that a looked-up address is the service's.
        let host = settings.knownAddresses.isEmpty && settings.origin.scheme == .https ? try? Name(settings.host) : nil
        lookup = host.map { HostAddresses(host: $0, sources: bootstrap, clock: loop) }
        // Over http a forged reply could name any addresses.
        schedule = settings.schedule.flatMap { schedule in
            guard settings.origin.scheme == .https else { return nil }
            return ScheduledAddresses(
                schedule, port: settings.origin.port, account: account, paths: paths,
                clock: loop
            ) { request, address in
                await settings.origin.at(address).reply(
                    to: request, by: paths, timeout: ScheduledAddresses.timeout, on: loop)
            }
        }
        update(settings.knownAddresses)
        lookup?.onChange = { [weak self] addresses in
            let addresses = addresses.map(settings.atURLPort)
            self?.update(addresses)
            self?.onLearned?(.addresses(addresses))
        }
        // Those of the configuration stay behind what the service names, which may be wrong.
        schedule?.onChange = { [weak self] addresses in
            self?.update(addresses + settings.knownAddresses.filter { !addresses.contains($0) })
            self?.onLearned?(.addresses(addresses))
        }
        account.onChange = { [weak self] in self?.accountChanged() }
        account.onFleetChange = { [weak self] in
            if let self, let record = self.account.fleet?.record { onLearned?(.fleet(record)) }
        }
        unknown = lookup.map { lookup in
            BootstrapEndpoint(host: settings.host, lookup: lookup, first: { [weak self] in self?.known.first })
        }
        addressesChanged()
    }

    public nonisolated var clientScoping: ClientScoping? { settings.clientSubnet.scoping }

    /// Whether its own host needs no look-up.
    public nonisolated var isKnownByAddress: Bool { !settings.knownAddresses.isEmpty }

    public nonisolated var isAuthenticated: Bool { settings.origin.scheme == .https }

    public var unavailability: String? {
        if schedule?.isDisabled == true { return "the vendor has disabled the service for this account" }
        return account.refusal
    }

    public var callShare: Int? { account.calls.share(at: account.clock.own) }

    public func leftOut() { account.refused() }

    /// When a service that its vendor has disabled is asked again; nil while it is enabled.
    public var disabledUntil: Instant? { schedule?.disabledUntil }

    // MARK: The calls of a fleet

    /// Counts the calls together with other servers from now on, where there are limits: in `store`, without one by itself,
    /// as the same text on all servers. `old` has counted them before, and may be this one.
    public func countCalls(in store: SharedStore?, as account: String, replacing old: HTTPDNSProvider? = nil) {
        self.account.countCalls(in: store, as: account, from: old?.account.fleet?.record)
    }

    /// State to be stored for the next start.
    public enum Learned: Hashable, Sendable {
        /// The number of calls has increased.
        case calls(CallQuota.Record)
        /// The calls that this server has claimed of the fleet's.
        case fleet(FleetRecord)
        /// Seconds by which the service's clock is ahead of ours.
        case clockOffset(Int64)
        /// The service's addresses, from a look-up of its host or from the service itself.
        case addresses([SocketAddress])
    }

    /// Called with new state to be stored.
    public var onLearned: (@Loop (Learned) -> Void)?

    /// Restores what an earlier process had learned, `time` seconds after 1970, unless this one has learned newer values.
    public func restore(_ learned: Learned, at time: Int64) {
        switch learned {
        case .calls(let record): account.restore(record)
        case .fleet(let record): account.fleet?.restore(record)
        case .clockOffset(let seconds): account.clock.restore(seconds, reportedAt: time)
        case .addresses(let addresses):
            lookup?.restore(addresses.map(\.ip))
            schedule?.restore(addresses)
        }
    }

    private func accountChanged() {
        onLearned?(.calls(account.record))
        guard clockOffset != reportedOffset else { return }
        reportedOffset = clockOffset
        onLearned?(.clockOffset(clockOffset))
    }

    /// Seconds by which the service's clock is ahead of ours; 0 until it has reported its time.
    public var clockOffset: Int64 { account.clock.offset }

    public nonisolated func answers(_ type: RecordType) -> Bool { settings.format.answers(type) }

    public nonisolated var takesCheckingDisabled: Bool { settings.format.takesCheckingDisabled }

    /// One endpoint for each address. Addresses that are looked up, or returned by the service, are refreshed in the
    /// background once they are due; the latter also when all have failed.
    public var endpoints: [any Endpoint] {
        lookup?.refreshIfDue()
        if let schedule {
            if current.contains(where: \.health.isUsable) { schedule.refreshIfDue() } else { schedule.circleFailed() }
        }
        return ordered
    }

    /// Where requests to its known addresses go first: to the address, a proxy, or the network's translator.
    public var nextHops: [IPAddress] { known.map(\.nextHop) }

    public var waitingRequests: Int { known.reduce(0) { $0 + $1.waitingRequests } }

    /// The same as received, and without starting a look-up, for status reports.
    public private(set) var knownEndpoints: [any Endpoint] = []

    /// Called when the network has changed: connections are reopened, backoffs end, and the service's host is looked up
    /// again if it is a name without configured addresses.
    public func networkChanged() {
        access.succeeded()
        unknown?.health.networkChanged(at: loop.now)
        for endpoint in known { endpoint.networkChanged() }
        if paths.routedFirst(listed) != current.map(\.address) || current.contains(where: { isOutdated($0) }) {
            update(listed)
        }
        lookup?.lookAgain()
        schedule?.askAgain()
    }

    /// Starts the look-up of the service's host, if it needs one, which otherwise the first use does, and enables
    /// scheduling calls.
    public func start() {
        lookup?.refreshIfDue()
        schedule?.start()
    }

    /// Called whenever `current` or `verified` has changed.
    private func addressesChanged() {
        known = current.prefix(1) + verified + current.dropFirst()
        knownEndpoints = known.isEmpty ? unknown.map { [$0] } ?? [] : known
        guard let family = known.first?.address.ip.recordType else { return ordered = knownEndpoints }
        ordered =
            known.filter { $0.address.ip.recordType == family } + known.filter { $0.address.ip.recordType != family }
    }

    /// Replaces the addresses; endpoints of addresses that remain keep their connections, and verified ones are
    /// retained.
    func update(_ addresses: [SocketAddress]) {
        let old = known
        listed = addresses
        current = paths.routedFirst(addresses).map { address in
            old.first { $0.address == address && !isOutdated($0) } ?? endpoint(at: address)
        }
        verified = old.filter { $0.isVerified && !addresses.contains($0.address) }
        addressesChanged()
    }

    /// Whether it connects by a translator that is gone, or not by the one that there is.
    private func isOutdated(_ endpoint: HTTPDNSEndpoint) -> Bool {
        settings.origin.at(endpoint.address).reached(by: paths).nextHop != endpoint.nextHop
    }

    private func endpoint(at address: SocketAddress) -> HTTPDNSEndpoint {
        HTTPDNSEndpoint(
            settings, address, account, paths: paths, loop: loop,
            onAnswer: { [weak self] in self?.answered(at: $0) },
            onUnreachable: { [weak self, lookup] failed in
                let others = self?.known.contains { $0 !== failed && $0.health.isUsable }
                lookup?.addressFailed(isLast: others != true)
            })
    }

    /// Called when one of the addresses, current or earlier, has answered.
    private func answered(at endpoint: HTTPDNSEndpoint) {
        if current.contains(where: { $0 === endpoint }) {
            if !verified.isEmpty {
                verified = []
                addressesChanged()
            }
        } else if !known.contains(where: { $0.address == endpoint.address }), !current.contains(where: \.isVerified) {
            // Its question was under way when the others came.
            verified.append(endpoint)
            addressesChanged()
        }
        keepSpare(beside: endpoint)
    }

    /// Opens a connection at the address that would be used next, so that a hedge or a failure costs no handshake.
    private func keepSpare(beside endpoint: HTTPDNSEndpoint) {
        let now = loop.now
        guard known.count > 1, endpoint.isMultiplexed, spareWindow.isOpen(after: ObjectIdentifier(endpoint), at: now)
        else { return }
        let usable = ordered.filter(\.health.isUsable)
        guard usable.count > 1, usable[0] === endpoint else { return }
        (usable[1] as? HTTPDNSEndpoint)?.keepReady()
    }
}

/// Decides when a spare connection is useful: in the first minutes of traffic over one address.
///
/// That is when bad networks show: after a start, a pause, a change of network or of address. Later its handshakes
/// would be wasted.
struct SpareWindow {
    /// How long the window stays open; also the pause after which traffic counts as new.
    static let length: Duration = .seconds(300)

    private var address: ObjectIdentifier?
    private var lastAnswer: Instant?
    private var end: Instant?

    /// Whether there should be a spare now that `address` has answered.
    mutating func isOpen(after address: ObjectIdentifier, at now: Instant) -> Bool {
        let isNew = lastAnswer.map { now - $0 >= Self.length } ?? true
        if isNew || address != self.address { end = now + Self.length }
        self.address = address
        lastAnswer = now
        return end.map { now < $0 } ?? false
    }
}
