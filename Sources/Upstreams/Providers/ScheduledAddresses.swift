import DNSResolver
import DNSWire
public import HTTPDNS
public import Platform

/// The scheduling call of a provider, which returns the addresses to use, and where it is sent: to the first address, then
/// to the next one when it fails. Over https only, with the service's certificate.
public typealias ScheduleSettings = (format: any ScheduleFormat, startup: [SocketAddress])

/// The addresses that a service returns for its scheduling call.
///
/// The call is made at the start, when the network has changed, when every address has failed, and otherwise when the
/// addresses are needed after their lifetime, so an idle daemon stays idle. The last valid ones are retained whatever
/// happens. The addresses accepted are restricted: the service was authenticated, but may be mistaken, or no longer
/// controlled by its owner.
@Loop
final class ScheduledAddresses {
    /// The lifetime of addresses for which the service gives none: its documentation demands 8 hours at most.
    static let refreshInterval: Duration = .seconds(8 * 3_600)
    /// The time after which a disabled service is asked again.
    static let disabledInterval: Duration = .seconds(86_400)
    /// The pauses after rounds without success.
    nonisolated static let retryInterval: ClosedRange<Duration> = .seconds(30)...(.seconds(3_600))
    /// The least time between two rounds made because every address has failed.
    static let circleInterval: Duration = .seconds(300)
    /// The most addresses of each family that are used, the first ones.
    static let familyLimit = 8
    /// The time-out of one call.
    static let timeout: Duration = .seconds(3)

    /// Sends a request to one address.
    typealias Call = @Loop (HTTPRequest, SocketAddress) async -> Result<HTTPResponse, UpstreamFailure>

    private let settings: ScheduleSettings
    private let port: UInt16
    private let account: ProviderAccount
    private let paths: NetworkPaths
    private let clock: any LoopClock
    private let call: Call
    /// When the next round is due; nil before `start()`.
    private var due: Instant?
    private var isAsking = false
    /// Whether the network has changed since the current round began.
    private var isOutdated = false
    /// The index of the startup address that is tried first.
    private var first = 0
    private var backoff = Backoff(ScheduledAddresses.retryInterval)
    private var lastCircle: Instant?
    /// Returned by the service in this process, or restored; empty: none yet.
    private var addresses: [SocketAddress] = []
    /// Whether the service has returned that it is disabled.
    private(set) var isDisabled = false
    /// For the next round while the service is disabled, when its addresses are not requested.
    private var timer: LoopTimer?

    /// Called with the addresses when they have changed; never with an empty list.
    var onChange: (@Loop ([SocketAddress]) -> Void)?

    /// - Parameters:
    ///   - port: of returned addresses without one.
    ///   - account: provides the time by which requests are signed, and reports what a round has changed.
    init(
        _ settings: ScheduleSettings, port: UInt16, account: ProviderAccount, paths: NetworkPaths,
        clock: any LoopClock, call: @escaping Call
    ) {
        self.settings = settings
        self.port = port
        self.account = account
        self.paths = paths
        self.clock = clock
        self.call = call
    }

    /// When a disabled service is asked again; nil while it is enabled.
    var disabledUntil: Instant? { isDisabled ? due : nil }

    /// Begins the calls; without effect after the first time. Before that nothing is sent.
    func start() {
        guard due == nil else { return }
        due = clock.now
        refreshIfDue()
    }

    /// Uses the addresses an earlier process received until the service returns some.
    func restore(_ earlier: [SocketAddress]) {
        let isPrivate = settings.startup.contains { !$0.ip.isRouted }
        let isLoopback = settings.startup.contains { $0.ip.isLoopback }
        let earlier = Self.first(
            earlier.filter { $0.port > 0 && $0.ip.mayBeNamed(byPrivate: isPrivate, byLoopback: isLoopback) })
        guard addresses.isEmpty, !isDisabled, !earlier.isEmpty else { return }
        use(earlier)
    }

    /// Starts a round if one is due and none is in progress. Returns at once.
    func refreshIfDue() {
        guard !isAsking, let due, clock.now >= due else { return }
        isAsking = true
        Loop.spawn { await self.refresh() }
    }

    /// Called when the network has changed, where other addresses may serve us. The known ones are used until then.
    func askAgain() {
        guard due != nil else { return }
        due = clock.now
        backoff.succeeded()
        isOutdated = isAsking
        refreshIfDue()
    }

    /// Called when every address has failed: starts an early round, at most every `circleInterval`.
    func circleFailed() {
        if let due, !isAsking, lastCircle.map({ clock.now - $0 >= Self.circleInterval }) ?? true {
            lastCircle = clock.now
            self.due = min(due, clock.now)
        }
        refreshIfDue()
    }

    private func refresh() async {
        repeat {
            isOutdated = false
            await ask()
        } while isOutdated
        isAsking = false
        timer.take()?.cancel()
        if isDisabled, let due { timer = clock.schedule(at: due) { [weak self] in self?.refreshIfDue() } }
    }

    /// One round over the startup addresses.
    private func ask() async {
        let rotated = settings.startup.suffix(from: first) + settings.startup.prefix(first)
        var reason = ""
        for startup in paths.routedFirst(Array(rotated)) {
            switch await outcome(at: startup) {
            case .success(nil):
                first = settings.startup.firstIndex(of: startup) ?? 0
                return disable()
            case .success(let schedule?):
                guard let addresses = usable(schedule, from: startup) else {
                    reason = "\(startup) names no address that could be the service's"
                    continue
                }
                first = settings.startup.firstIndex(of: startup) ?? 0
                return received(addresses, for: schedule.lifetime ?? Self.refreshInterval)
            case .failure(let failure):
                reason = "\(startup): \(failure)"
                // The next address would refuse the account too.
                if failure.isAccessRefused { return fail(reason) }
            }
            if isOutdated { return }
        }
        fail(reason)
    }

    /// Calls one startup address: a second time if its reply corrects our clock.
    private func outcome(at startup: SocketAddress) async -> Result<AddressSchedule?, UpstreamFailure> {
        let offset = account.clock.offset
        let outcome = await singleOutcome(at: startup)
        guard case .failure(.clockSkew(_, let time?)) = outcome else { return outcome }
        account.learn(time)
        return account.clock.offset == offset ? outcome : await singleOutcome(at: startup)
    }

    private func singleOutcome(at startup: SocketAddress) async -> Result<AddressSchedule?, UpstreamFailure> {
        do throws(UpstreamFailure) {
            let request = try settings.format.request(at: account.clock.now)
            return .success(try settings.format.schedule(in: try await call(request, startup).get()))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Results

    private func received(_ new: [SocketAddress], for lifetime: Duration) {
        backoff.succeeded()
        due = clock.now + lifetime
        if isDisabled {
            isDisabled = false
            account.report(.serviceEnabled(provider: account.provider))
        }
        if new != addresses { use(new) }
    }

    private func use(_ new: [SocketAddress]) {
        addresses = new
        onChange?(new)
        account.report(.addressesAnnounced(provider: account.provider, addresses: new.map(\.description)))
    }

    private func disable() {
        backoff.succeeded()
        due = clock.now + Self.disabledInterval
        guard !isDisabled else { return }
        isDisabled = true
        account.report(.serviceDisabled(provider: account.provider))
    }

    private func fail(_ reason: String) {
        let now = clock.now
        due = now + backoff.failed(at: now)
        account.report(.addressesMissing(provider: account.provider, reason: reason))
    }

    // MARK: Bounds

    /// The acceptable addresses of a reply; nil if there are none.
    private func usable(_ schedule: AddressSchedule, from startup: SocketAddress) -> [SocketAddress]? {
        let places = schedule.places.filter {
            $0.address.mayBeNamed(byPrivate: !startup.ip.isRouted, byLoopback: startup.ip.isLoopback)
        }
        let usable = Self.first(places.map { SocketAddress($0.address, port: $0.port == 0 ? port : $0.port) })
        return usable.isEmpty ? nil : usable
    }

    /// The first `familyLimit` addresses of each family, without duplicates.
    private static func first(_ addresses: [SocketAddress]) -> [SocketAddress] {
        var taken: [SocketAddress] = []
        for address in addresses where !taken.contains(address) {
            let count = taken.count { $0.ip.recordType == address.ip.recordType }
            if count < familyLimit { taken.append(address) }
        }
        return taken
    }
}

extension IPAddress {
    /// Whether this may be an address of a service.
    ///
    /// A reply must not direct requests to this host or its network, unless the service itself was reached there.
    fileprivate func mayBeNamed(byPrivate: Bool, byLoopback: Bool) -> Bool {
        if isLoopback { return byLoopback }
        return isRouted || byPrivate && isPrivate
    }
}
