import Admin
import Configuration
import DNSResolver
import DNSWire
import Glibc
import Logging
import Platform

/// The signed policy of this machine: fetched, verified, stored beside the cache, and in force until it expires.
///
/// Whatever fails leaves in force what is.
@Loop
final class PolicyKeeper {
    /// The longest time between two looks at the clock: it may be set meanwhile.
    private static let longestWait: Duration = .seconds(3_600)

    private let clock: any LoopClock
    private let time: @Sendable () -> Int64
    private let events: EventLog
    private var settings: Configuration
    /// The document that was taken last, in force or not.
    private var present: SignedPolicy?
    /// The policy that the configuration was last built with; nil: none.
    private(set) var inForce: SignedPolicy?
    /// The serial of the policy that was last reported to have expired.
    private var reportedExpiry: Int?
    /// The document at the URL that needs no second look: its entity tag, and what there is to say of it.
    private var judged: (tag: String, problem: String)?
    private var fetch: PolicyFetch?
    private var makeFetch: (@Loop (PolicyLocation) -> PolicyFetch)?
    private var onChange: (@Loop () async -> Void)?
    private var fetchTimer: LoopTimer?
    private var expiryTimer: LoopTimer?
    /// Raised when the settings change: a fetch under way is of no use then.
    private var round = 0
    private var isFetching = false
    private var lastFetch: Instant?
    private var problem = ""

    /// Takes up the stored policy: it is in force before the network is.
    ///
    /// - Parameter time: seconds since 1970.
    init(
        _ settings: Configuration, clock: any LoopClock, events: EventLog,
        time: @escaping @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }
    ) {
        self.clock = clock
        self.time = time
        self.events = events
        self.settings = settings
        present = stored(by: settings)
        inForce = due
        if present != nil, let url = settings.policy.url {
            judged = PolicyFile(settings)?.tag(at: "\(url)").map { ($0, "") }
        }
        if let inForce {
            events.logger.log(.policyTaken, "the stored policy with serial \(inForce.document.serial) is in force")
        }
    }

    /// The policy that should be in force by the present clock and settings; nil: none.
    private var due: SignedPolicy? { present.flatMap { $0.isDue(by: settings, at: time()) ? $0 : nil } }

    /// Decides what is in force from now on; the configuration must be built with it.
    func decide() -> SignedPolicy? {
        inForce = due
        return inForce
    }

    /// Whether it switches HTTPDNS off.
    var switchesOff: Bool { inForce?.document.switchesOff == true }

    /// Where an entry of its lists stands that decides about a name; nil for any other.
    func place(of rule: RoutingRule) -> String? {
        inForce?.lists.place(of: rule, file: settings.policy.url.map { "\($0)" } ?? "")
    }

    // MARK: The stored policy

    /// The stored policy, verified by the keys of `settings`. Reads a file.
    nonisolated func stored(by settings: Configuration) -> SignedPolicy? {
        guard let file = PolicyFile(settings), let bytes = file.bytes else { return nil }
        do throws(ConfigurationError) {
            return try SignedPolicy.open(bytes, file: file.path, by: settings)
        } catch {
            events.logger.log(.policyRefused, "\(error.diagnostics[0]); the stored policy is not used")
            return nil
        }
    }

    /// Stores a document that needs no second look.
    private func store(_ bytes: [UInt8], _ tag: String?, from url: String) async {
        settle(tag, "")
        guard let file = PolicyFile(settings) else { return }
        do throws(SystemError) {
            try await file.store(bytes, tag: tag, at: url)
        } catch {
            problem = "\(error): a restart does not find the policy"
            judged?.problem = problem
            events.report(.policyUnavailable, about: file.path, problem)
        }
    }

    /// Stops fetching until `resume`, and goes on by other settings.
    ///
    /// - Parameter stored: the stored policy, by their keys.
    func take(_ settings: Configuration, stored: SignedPolicy?) {
        let old = self.settings
        self.settings = settings
        if settings.policy != old.policy {
            // One that could not be stored is known in memory alone.
            let isTrusted = present?.key.map(settings.policy.keys.contains) ?? false
            if settings.policy.url == nil || !isTrusted { present = stored }
            problem = ""
        }
        round += 1
        isFetching = false
        judged = nil
        fetch = nil
        fetchTimer?.cancel()
    }

    /// Fetches by the new settings, once they are in force: the host may be looked up elsewhere now.
    func resume() {
        fetchNow()
        watchClock()
    }

    // MARK: Fetching

    /// Fetches from now on, at once and then at intervals.
    ///
    /// - Parameters:
    ///   - makeFetch: for `policy.url`, by the configuration in force.
    ///   - onChange: called when another policy, or none, is to be in force; calls `decide`.
    func start(
        fetchingBy makeFetch: @escaping @Loop (PolicyLocation) -> PolicyFetch,
        onChange: @escaping @Loop () async -> Void
    ) {
        self.makeFetch = makeFetch
        self.onChange = onChange
        resume()
    }

    /// Fetches no more.
    func stop() {
        makeFetch = nil
        round += 1
        for timer in [fetchTimer, expiryTimer] { timer?.cancel() }
    }

    /// Fetches at once if the last fetch failed: at the start of a machine its network comes later.
    func networkChanged() {
        if lastFetch == nil || !problem.isEmpty { fetchNow() }
    }

    private func fetchNow() {
        fetchTimer?.cancel()
        guard let url = settings.policy.url, let makeFetch, !isFetching else { return }
        let fetch = fetch ?? makeFetch(url)
        self.fetch = fetch
        isFetching = true
        Loop.spawn { [self, round] in
            let fetched = await fetch(judged?.tag)
            guard round == self.round else { return }
            await received(fetched, from: "\(url)", round)
            guard round == self.round else { return }
            watchClock()
            isFetching = false
            // Earlier by chance, so that many machines do not ask at once, and never later.
            let part = Double.random(in: 0.9...1)
            fetchTimer = clock.schedule(after: settings.policy.interval * part) { [weak self] in self?.fetchNow() }
        }
    }

    private func received(_ fetched: FetchedPolicy, from url: String, _ round: Int) async {
        switch fetched {
        case .failed(let reason):
            problem = "\(url): \(reason)"
            events.report(.policyUnavailable, about: url, "\(problem); what is in force stays. Check policy.url")
        case .unchanged:
            lastFetch = clock.now
            problem = judged?.problem ?? ""
        case .document(let bytes, let tag):
            lastFetch = clock.now
            await judge(bytes, tag, from: url, round)
        }
    }

    private func judge(_ bytes: [UInt8], _ tag: String?, from url: String, _ round: Int) async {
        let (settings, present, now) = (settings, present, time())
        let judged: Result<(PolicyDecision, SignedPolicy), ConfigurationError>
        do throws(SystemError) {
            // On a thread of its own: the document may be long.
            judged = try await NamedThread.run("policy") {
                Result { () throws(ConfigurationError) in
                    let policy = try SignedPolicy.open(bytes, file: url, by: settings)
                    let isForMachine = policy.isFor(settings)
                    return (PolicyDecision(on: policy, after: present, now: now, isForMachine: isForMachine), policy)
                }
            }
        } catch {
            if round == self.round { problem = "\(error)" }
            return
        }
        guard round == self.round else { return }
        switch judged {
        case .success((.take, let policy)): await take(policy, bytes, tag, from: url)
        case .success((.same, let policy)):
            // The tag is new, and so the signature and its key may be.
            self.present = policy
            if tag == nil { settle(nil, "") } else { await store(bytes, tag, from: url) }
        case .success((.elsewhere, let policy)):
            settle(tag, policy.elsewhere)
        case .success((.refuse(let reason), _)): refuse("\(url) \(reason)", url)
        case .failure(let error):
            let more = error.diagnostics.count > 1 ? " (and \(error.diagnostics.count - 1) more)" : ""
            refuse("\(error.diagnostics[0])\(more)", url)
        }
    }

    /// A document needs no second look.
    private func settle(_ tag: String?, _ problem: String) {
        self.problem = problem
        judged = tag.map { ($0, problem) }
    }

    private func refuse(_ text: String, _ url: String) {
        problem = text
        events.report(.policyRefused, about: url, "\(text); what is in force stays")
    }

    private func take(_ policy: SignedPolicy, _ bytes: [UInt8], _ tag: String?, from url: String) async {
        present = policy
        let serial = policy.document.serial
        await store(bytes, tag, from: url)
        await onChange?()
        let changes = policy.changes.isEmpty ? "it changes nothing" : policy.changes.joined(separator: ", ")
        events.logger.log(.policyTaken, "\(url) is taken: serial \(serial) \(changes)", ["serial": "\(serial)"])
    }

    // MARK: The clock

    /// Puts in force or drops what the clock says, now and whenever it may say something else: it may be set at any time.
    private func watchClock() {
        expiryTimer?.cancel()
        guard makeFetch != nil, let present else { return }
        let left = present.document.expires - time()
        reportExpiry(of: present, left: left)
        Loop.spawn { [self] in
            if due?.document.serial != inForce?.document.serial { await onChange?() }
        }
        let wait = left > 0 ? min(.seconds(left), Self.longestWait) : Self.longestWait
        expiryTimer = clock.schedule(after: wait) { [weak self] in self?.watchClock() }
    }

    /// Logs once that the policy has expired, and that it is in force again once the clock has been set right.
    private func reportExpiry(of policy: SignedPolicy, left: Int64) {
        let serial = policy.document.serial
        guard (left <= 0) != (reportedExpiry == serial) else { return }
        reportedExpiry = left <= 0 ? serial : nil
        guard left <= 0 else {
            return events.logger.log(
                .policyTaken, "the clock was set, and by it the policy with serial \(serial) has not expired",
                ["serial": "\(serial)"])
        }
        events.logger.log(
            .policyExpired,
            "the policy with serial \(serial) has expired, and "
                + (settings.policy.keepsExpired
                    ? "stays in force until there is another" : "the configuration file alone is in force"))
    }

    // MARK: The report

    var report: StatusReport.Policy {
        var report = StatusReport.Policy()
        guard let url = settings.policy.url else { return report }
        report.url = "\(url)"
        report.problem = problem
        report.fetchAge = lastFetch.map { Int((clock.now - $0).components.seconds) }
        guard let shown = inForce ?? present else { return report }
        report.serial = shown.document.serial
        report.expires = shown.document.expiryText
        report.changes = shown.changes
        report.switchesOff = switchesOff
        report.state =
            if inForce == nil {
                shown.isFor(settings) ? .expired : .elsewhere
            } else {
                shown.isExpired(at: time()) ? .overdue : .inForce
            }
        return report
    }
}
