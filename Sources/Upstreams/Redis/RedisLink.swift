import DNSResolver
import DNSWire
import Platform

/// The way to a Redis: finds its addresses, holds one connection, and sends nothing for a while when that fails.
///
/// Once started, nothing is connected, looked up or probed but when a command is to be sent: an idle server stays idle.
@Loop
final class RedisLink {
    /// How long a probe may take: no question waits for it.
    private nonisolated static let probeTimeout: Duration = .seconds(2)

    typealias Connect = @Loop (SocketAddress?, RedisChannelEvents) throws(UpstreamFailure) -> any RedisChannel

    private let timeout: Duration
    private let clock: any LoopClock
    private let paths: NetworkPaths
    private let makeChannel: Connect
    /// Looks up the host; nil for an address or a path.
    private let lookup: HostAddresses?
    /// Those of the host; nil: a place without an address.
    private var addresses: [SocketAddress?] = []
    /// The index of the address that is tried next.
    private var next = 0
    private var connection: (any RedisChannel)?
    /// Where it leads; nil: to no address.
    private var place: SocketAddress?
    /// The address that failed last; nil once the server at another one may not be the master any more.
    private var failedPlace: SocketAddress?
    private(set) var backoff = Backoff()
    private var probes = 0
    private var probeTimer: LoopTimer?
    private var isShut = false
    /// Whether a connection is wanted before a command is to be sent.
    private var isStarted = false
    /// Why it last failed; empty: it has not since it last worked.
    private(set) var lastFailure = ""
    private let report: @Loop (String?) -> Void
    /// Called with what is published on the connection.
    var onPublished: (@Loop (RedisReply) -> Void)?
    /// Called when a connection has ended, for whatever reason.
    var onEnd: (@Loop () -> Void)?

    /// - Parameters:
    ///   - timeout: within which the reply to a command must come.
    ///   - bootstrap: looks up the host.
    ///   - makeChannel: connects to an address; nil for a place without one.
    ///   - report: called with the reason when a backoff begins, and with nil when it ends.
    init(
        _ place: RedisSettings.Place, timeout: Duration, clock: any LoopClock, bootstrap: HostSources,
        paths: NetworkPaths, makeChannel: @escaping Connect, report: @escaping @Loop (String?) -> Void
    ) {
        self.timeout = timeout
        self.clock = clock
        self.paths = paths
        self.makeChannel = makeChannel
        self.report = report
        guard case .host(let host, let port, _) = place else {
            (lookup, addresses) = (nil, [nil])
            return
        }
        guard let address = IPAddress(host) else {
            lookup = (try? Name(host)).map { HostAddresses(host: $0, sources: bootstrap, clock: clock) }
            lookup?.onChange = { [weak self] found in self?.take(found.map { SocketAddress($0, port: port) }) }
            return
        }
        (lookup, addresses) = (nil, [SocketAddress(address, port: port)])
    }

    /// The host has other addresses: a connection to one that is not among them ends, since another server may be the
    /// master now; but not for the address that failed before it, which is all that the best source may know.
    private func take(_ found: [SocketAddress]) {
        addresses = paths.routedFirst(found)
        next = 0
        if let place, !found.contains(place), found.contains(where: { $0 != failedPlace }) { close() }
        if isStarted, !isShut, connection == nil, !backoff.isActive { _ = connect() }
    }

    /// Begins the look-up of the host, and connects once that has addresses.
    func start() {
        isStarted = true
        lookup?.refreshIfDue()
        _ = usable()
    }

    /// The connection to send commands on, once the host is looked up; nil when there is none by `deadline`.
    func reached(until deadline: Instant) async -> (any RedisChannel)? {
        start()
        await lookup?.lookedUp(until: deadline)
        if addresses.isEmpty { lastFailure = "no source has an address of its host" }
        return usable()
    }

    /// The connection to send commands on; nil while there is none: no address is known, or it is in backoff. Begins the
    /// probe that is due.
    func usable() -> (any RedisChannel)? {
        guard !isShut else { return nil }
        lookup?.refreshIfDue()
        guard backoff.isActive else { return connection ?? connect() }
        if backoff.isDue(at: clock.now, isUrgent: false) { probe() }
        return nil
    }

    /// Sends a command. `done` is called once with its reply, or nil when none came in time, but never before this returns,
    /// and not when it returns false, as the command cannot be sent.
    func send(_ command: RedisCommand, _ done: @escaping RedisChannel.Completion) -> Bool {
        usable()?.send(command, until: clock.now + timeout, done) ?? false
    }

    private func connect() -> (any RedisChannel)? {
        guard !addresses.isEmpty else { return nil }
        let address = addresses[next % addresses.count]
        place = address
        do throws(UpstreamFailure) {
            let made = try makeChannel(
                address,
                (
                    publish: { [weak self] in self?.onPublished?($0) },
                    end: { [weak self] in self?.ended($0, hasFailed: $1) }
                ))
            connection = made
            return made
        } catch {
            failed("\(error)")
            return nil
        }
    }

    /// Connects, and asks for a sign of life.
    private func probe() {
        close()
        probes += 1
        let number = probes
        backoff.probeBegan(number)
        guard let connection = connect() else { return endProbe() }
        probeTimer = clock.schedule(after: Self.probeTimeout) { [weak self] in self?.failed("no reply to a probe") }
        _ = connection.send(RedisCommand("PING"), until: nil) { [weak self] reply in
            guard let self, let reply, backoff.isProbing else { return }
            if let refusal = reply.refusal { return failed("it refuses PING: \(refusal)") }
            endProbe()
            backoff.succeeded()
            lastFailure = ""
            report(nil)
        }
    }

    private func endProbe() {
        probeTimer.take()?.cancel()
        backoff.probeEnded(probes)
    }

    private func ended(_ reason: String, hasFailed: Bool) {
        connection = nil
        onEnd?()
        if hasFailed { failed(reason) }
    }

    /// Begins a backoff: the server gave no reply in time, or the connection failed.
    func failed(_ reason: String) {
        let isNew = !backoff.isActive
        endProbe()
        close()
        next &+= 1
        failedPlace = place
        lookup?.addressFailed()
        backoff.failed(at: clock.now)
        lastFailure = reason
        if isNew { report(reason) }
    }

    /// Looks up the host again soon: the server at this address may not be the master any more.
    func doubtAddress() {
        failedPlace = nil
        if let place, !addresses.contains(place) { close() }
        lookup?.addressFailed()
        lookup?.refreshIfDue()
    }

    /// Called when the network has changed: what failed may work now.
    func networkChanged() {
        endProbe()
        close()
        backoff.succeeded()
        lookup?.lookAgain()
    }

    /// Ends the connection; no other is made.
    func shutDown() {
        isShut = true
        endProbe()
        close()
    }

    /// Ends the connection; the next command makes another.
    private func close() {
        guard let old = connection.take() else { return }
        old.close()
        onEnd?()
    }
}
