import DNSResolver
import DNSWire
package import HTTPDNS
package import Platform
import Scheduling

/// How a provider asks its service which of its addresses to ask.
package struct ScheduleSettings: Sendable {
    package var service: any ScheduleService
    /// Where that is asked: the first, and the next one when it fails. Over https alone, with the certificate of the service.
    package var startup: [SocketAddress]

    package init(service: any ScheduleService, startup: [SocketAddress]) {
        self.service = service
        self.startup = startup
    }
}

/// The addresses that a service names by its scheduling call.
///
/// It is asked at the start, on another network, when every address has failed, and otherwise when somebody needs the
/// addresses after their time, so an idle daemon stays idle. The last good ones are kept whatever happens. What the service
/// may name is bounded: it was authenticated, but may be mistaken, or no more in its owner's hands.
@Loop
final class ScheduledAddresses {
    /// How long addresses are used whose lifetime the service does not tell: its page demands 8 hours at most.
    static let refreshInterval: Duration = .seconds(8 * 3_600)
    /// When a service that was disabled is asked again whether it still is.
    static let disabledInterval: Duration = .seconds(86_400)
    /// The least time between two rounds without success, which doubles from the first to the last.
    static let retryInterval: ClosedRange<Duration> = .seconds(30)...(.seconds(3_600))
    /// The least time between two rounds that are made because every address has failed.
    static let circleInterval: Duration = .seconds(300)
    /// How many addresses of each family are used, the first ones.
    static let familyLimit = 8
    /// How long one call may take.
    static let timeout: Duration = .seconds(3)

    /// Sends a request to one address.
    typealias Call = @Loop (HTTPRequest, SocketAddress) async -> Result<HTTPResponse, HTTPFailure>

    private let settings: ScheduleSettings
    private let port: UInt16
    private let account: ServiceAccount
    private let paths: NetworkPaths
    private let clock: any LoopClock
    private let call: Call
    /// When the next round is due; nil: nobody has begun yet.
    private var due: Instant?
    private var isAsking = false
    /// Whether the network has changed since the round under way began.
    private var isOutdated = false
    /// The startup address that is asked first.
    private var first = 0
    /// Rounds without success, one after the other.
    private var failures = 0
    private var lastCircle: Instant?
    /// Told in this process or restored; empty: none yet.
    private var addresses: [SocketAddress] = []
    /// Whether the service has told that it must not be asked.
    private(set) var isDisabled = false
    /// For the next round while the service is disabled, when nobody asks for its addresses.
    private var timer: LoopTimer?

    /// What came of a round, as far as it is news.
    enum Event {
        /// Never none.
        case addresses([SocketAddress])
        case disabled
        case enabled
        /// All startup addresses have failed; the last reason.
        case failed(String)
    }

    var onEvent: (@Loop (Event) -> Void)?

    /// - Parameters:
    ///   - port: of addresses that are told without one.
    ///   - account: by whose time requests are signed.
    init(
        _ settings: ScheduleSettings, port: UInt16, account: ServiceAccount, paths: NetworkPaths,
        clock: any LoopClock, call: @escaping Call
    ) {
        self.settings = settings
        self.port = port
        self.account = account
        self.paths = paths
        self.clock = clock
        self.call = call
    }

    /// When a disabled service is asked again; nil while it is not disabled.
    var disabledUntil: Instant? { isDisabled ? due : nil }

    /// Begins to ask, once; before that nothing is asked.
    func start() {
        guard due == nil else { return }
        due = clock.now
        refreshIfDue()
    }

    /// Uses what an earlier process was told until the service has told something.
    func restore(_ earlier: [SocketAddress]) {
        let isPrivate = settings.startup.contains { !$0.ip.isRouted }
        let isLoopback = settings.startup.contains { $0.ip.isLoopback }
        let earlier = Self.first(
            earlier.filter { $0.port > 0 && $0.ip.mayBeNamed(byPrivate: isPrivate, byLoopback: isLoopback) })
        guard addresses.isEmpty, !isDisabled, !earlier.isEmpty else { return }
        addresses = earlier
        onEvent?(.addresses(earlier))
    }

    /// Begins a round if it is time and none is under way. Returns at once.
    func refreshIfDue() {
        guard !isAsking, let due, clock.now >= due else { return }
        isAsking = true
        Loop.spawn { await self.refresh() }
    }

    /// Another network may be served by other addresses. Those known are used until then.
    func askAgain() {
        guard due != nil else { return }
        due = clock.now
        failures = 0
        isOutdated = isAsking
        refreshIfDue()
    }

    /// Every address has failed: asks early, unless that was done just before.
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
        timer?.cancel()
        timer = nil
        if isDisabled, let due { timer = clock.schedule(at: due) { [weak self] in self?.refreshIfDue() } }
    }

    /// One round over the startup addresses.
    private func ask() async {
        let rotated = settings.startup.suffix(from: first) + settings.startup.prefix(first)
        var reason = ""
        for startup in paths.routedFirst(Array(rotated)) {
            switch await outcome(at: startup) {
            case .addresses(let schedule):
                guard let told = usable(schedule, from: startup) else {
                    reason = "\(startup) names no address that could be the service's"
                    continue
                }
                first = settings.startup.firstIndex(of: startup) ?? 0
                return take(told, for: schedule.lifetime ?? Self.refreshInterval)
            case .disabled:
                first = settings.startup.firstIndex(of: startup) ?? 0
                return disable()
            case .failure(let failure):
                let failure = UpstreamFailure(failure)
                reason = "\(startup): \(failure)"
                // The next address would refuse the account likewise.
                if case .authentication = failure { return fail(reason) }
            }
            if isOutdated { return }
        }
        fail(reason)
    }

    /// Asks one startup address: once more where the service's clock is another.
    private func outcome(at startup: SocketAddress) async -> ScheduleOutcome {
        let offset = account.clock.offset
        let outcome = await singleOutcome(at: startup)
        guard case .failure(.clockSkew(_, let time?)) = outcome else { return outcome }
        account.learn(time)
        return account.clock.offset == offset ? outcome : await singleOutcome(at: startup)
    }

    private func singleOutcome(at startup: SocketAddress) async -> ScheduleOutcome {
        do {
            let request = try settings.service.request(at: account.clock.now)
            switch await call(request, startup) {
            case .success(let response): return settings.service.outcome(of: response)
            case .failure(let failure): return .failure(.unavailable(UpstreamFailure(failure).description))
            }
        } catch {
            return .failure(error)
        }
    }

    // MARK: What came of it

    private func take(_ told: [SocketAddress], for lifetime: Duration) {
        failures = 0
        due = clock.now + lifetime
        if isDisabled {
            isDisabled = false
            onEvent?(.enabled)
        }
        guard told != addresses else { return }
        addresses = told
        onEvent?(.addresses(told))
    }

    private func disable() {
        failures = 0
        due = clock.now + Self.disabledInterval
        guard !isDisabled else { return }
        isDisabled = true
        onEvent?(.disabled)
    }

    private func fail(_ reason: String) {
        let pause = Self.retryInterval.lowerBound * (1 << min(failures, 10))
        failures += 1
        due = clock.now + min(pause, Self.retryInterval.upperBound)
        onEvent?(.failed(reason))
    }

    // MARK: Bounds

    /// What of a reply may be used; nil if nothing.
    private func usable(_ schedule: AddressSchedule, from startup: SocketAddress) -> [SocketAddress]? {
        let places = schedule.places.filter {
            $0.address.mayBeNamed(byPrivate: !startup.ip.isRouted, byLoopback: startup.ip.isLoopback)
        }
        let usable = Self.first(places.map { SocketAddress($0.address, port: $0.port ?? port) })
        return usable.isEmpty ? nil : usable
    }

    /// The first ones of each family, each once.
    private static func first(_ addresses: [SocketAddress]) -> [SocketAddress] {
        var kept: [SocketAddress] = []
        for address in addresses where !kept.contains(address) {
            let count = kept.count { $0.ip.recordType == address.ip.recordType }
            if count < familyLimit { kept.append(address) }
        }
        return kept
    }
}

extension IPAddress {
    /// Whether this may be an address of a service.
    ///
    /// A reply must not lead requests into this machine or its network, unless the service itself was asked there.
    fileprivate func mayBeNamed(byPrivate: Bool, byLoopback: Bool) -> Bool {
        if isLoopback { return byLoopback }
        return isRouted || byPrivate && isPrivate
    }
}
