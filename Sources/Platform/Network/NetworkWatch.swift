import CSystem.Linux
public import DNSWire
import Glibc

/// Reports when the host's network has changed: an address or a route was added or removed, a link went up or down.
///
/// Costs nothing while the network does not change.
@Loop
public final class NetworkWatch {
    /// Size in bytes of the largest datagram from the kernel (NLMSG_GOODSIZE of a large page).
    private static let bufferSize = 32 << 10
    /// Datagrams that are read in one go, so that a storm of them does not block the loop's other work.
    private static let batch = 64

    private let descriptor: Descriptor
    private let handler: @Loop (NetworkSign) -> Void
    private let paths: NetworkPaths?
    private var watch: Watch?
    private var stock: NetworkStock
    private var buffer: [UInt8]

    /// - Parameters:
    ///   - paths: receives the links without a carrier, before `handler` is called.
    ///   - handler: called for each change; several may follow one another within milliseconds.
    /// - Throws: where the process may not have such a socket.
    public init(
        on loop: EventLoop, paths: NetworkPaths? = nil, _ handler: @escaping @Loop (NetworkSign) -> Void
    ) throws(SystemError) {
        self.handler = handler
        self.paths = paths
        let number = try checked(clinux_route_socket(), "watch the network (netlink)")
        descriptor = Descriptor(owning: number)
        stock = NetworkStock { clinux_route_dump(number, $0) >= 0 }
        buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        watch = try loop.watch(number, for: .readable) { [weak self] _ in self?.receive() }
        stock.take()
    }

    /// Stops watching; `handler` is not called any more. The server watches as long as it runs: for tests, which share
    /// a loop.
    public func cancel() {
        watch.take()?.cancel()
        // Without further reports, the state of links is unknown.
        paths?.update(deadLinks: [])
    }

    private func receive() {
        var signs: [NetworkSign] = []
        for _ in 0..<Self.batch {
            let length = unsafe buffer.withUnsafeMutableBytes {
                unsafe clinux_route_receive(descriptor.number, $0.baseAddress, $0.count)
            }
            if length == -ENOBUFS {
                signs.append(.unknown)
                stock.take()
                continue
            }
            guard length >= 0 else { break }
            signs += stock.take(Array(buffer.prefix(Int(length))))
        }
        paths?.update(deadLinks: stock.state.deadLinks)
        for sign in signs { handler(sign) }
    }
}

/// Reports when the machine resumes from sleep. Costs nothing while it is awake.
///
/// Timers and ages use CLOCK_BOOTTIME, which advances during sleep, and need no correction; but after a long sleep the
/// network is likely another one, and connections are dead. Setting the wall clock does not count as a sleep.
@Loop
public final class ResumeWatch {
    /// A shorter sleep leaves connections and networks intact.
    public nonisolated static let shortestSleep = Duration.seconds(5)

    private let descriptor: Descriptor
    private var watch: Watch?
    private var sleep: SleepCount

    /// - Parameter handler: called after each sleep of `shortestSleep` or more, with its length.
    public init(on loop: EventLoop, _ handler: @escaping @Loop (Duration) -> Void) throws(SystemError) {
        let number = try checked(clinux_clock_jump_create(), "watch for a resume (timerfd)")
        descriptor = Descriptor(owning: number)
        sleep = SleepCount(asleep: Self.timeAsleep)
        // Edge-triggered by re-arming: an unread descriptor stays readable.
        watch = try loop.watch(number, for: .readable) { [weak self] _ in
            _ = clinux_clock_jump_rearm(number)
            guard let self, let length = self.sleep.take(asleep: Self.timeAsleep) else { return }
            handler(length)
        }
    }

    /// Stops watching; `handler` is not called any more. The server watches as long as it runs: for tests, which share
    /// a loop.
    public func cancel() {
        watch.take()?.cancel()
    }

    /// How long the machine has slept since boot: CLOCK_MONOTONIC does not advance during sleep.
    private static var timeAsleep: Duration {
        var awake = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &awake)
        let boot = Instant.bootTime.nanoseconds
        return .nanoseconds(boot - (Int64(awake.tv_sec) * 1_000_000_000 + Int64(awake.tv_nsec)))
    }
}

/// Distinguishes sleeps from other jumps of clocks.
public struct SleepCount: Sendable {
    private var known: Duration

    /// - Parameter asleep: how long the machine has slept so far.
    public init(asleep: Duration) { known = asleep }

    /// The length of the sleep that has just ended; nil if there was none, or a shorter one than `shortestSleep`.
    public mutating func take(asleep: Duration) -> Duration? {
        let length = asleep - known
        known = asleep
        return length >= ResumeWatch.shortestSleep ? length : nil
    }
}

/// What is known of the host's network: asked of the kernel in dumps, and followed by its reports.
struct NetworkStock {
    /// RTM_GETLINK and RTM_GETADDR, the dumps requested.
    static let kinds: [UInt16] = [18, 22]

    private(set) var state = NetworkState()
    /// Requests a dump.
    ///
    /// - Returns: whether the kernel took the request.
    private let ask: (UInt16) -> Bool
    /// The dumps still to be requested, whose objects are unknown until then.
    private var wanted: [UInt16] = []
    /// Whether a dump was requested that has not ended; the kernel refuses another one until then.
    private var isRunning = false
    /// Whether messages were lost meanwhile: then it starts again at the end.
    private var isOutdated = false

    init(ask: @escaping (UInt16) -> Bool) { self.ask = ask }

    /// Starts again: some messages were lost, or none were read yet.
    mutating func take() {
        isOutdated = isRunning
        guard !isRunning else { return }
        state = NetworkState()
        wanted = Self.kinds
        askNext()
    }

    private mutating func askNext() {
        // If a request fails, each address counts as new at its next report: a needless change, but no missed one.
        while !isRunning, !wanted.isEmpty { isRunning = ask(wanted.removeFirst()) }
    }

    private mutating func endDump() {
        isRunning = false
        if isOutdated { take() } else { askNext() }
    }

    /// Applies the messages of a datagram.
    ///
    /// - Returns: what has changed.
    mutating func take(_ datagram: [UInt8]) -> [NetworkSign] {
        var signs: [NetworkSign] = []
        var messages = RouteMessages(datagram)
        while let (message, isDump) = messages.next() {
            if let sign = state.take(message, isDump: isDump) { signs.append(sign) }
            if message == .dumpEnded { endDump() }
        }
        // A failed request has no end-of-dump message.
        if messages.isBroken { endDump() }
        return signs
    }
}

/// The known state of the host's links, addresses and routes; separates changes of the network from noise.
///
/// Noise: loopback and link-local addresses, addresses that are tentative or temporary, objects reported again
/// unchanged (each router advertisement, each renewed lease), links without an address, ports of bridges, the bridges
/// of containers and virtual machines on this host, routes to single hosts, and routes made by the kernel and by
/// routing daemons.
public struct NetworkState: Sendable {
    /// The most addresses, and the most routes, that are stored; each one beyond counts as new.
    public static let limit = 4_096

    private struct Link {
        var isUp: Bool
        var isForeign: Bool
    }

    private var links: [UInt32: Link] = [:]
    private var addresses: Set<RouteMessage.Address> = []
    private var routes: Set<RouteMessage.Route> = []

    public init() {}

    /// Applies a message.
    ///
    /// - Parameter isDump: whether it reports an object that existed before.
    /// - Returns: what has changed; nil: nothing.
    public mutating func take(_ message: RouteMessage, isDump: Bool) -> NetworkSign? {
        switch message {
        case .link(let link): return take(link) && !isDump ? .link(link.index) : nil
        case .linkGone(let index):
            links[index] = nil
            addresses = addresses.filter { $0.index != index }
            loseRoutes(through: index)
            return nil
        case .address(let address, isGone: false):
            guard address.isLasting, !isForeign(address.index), !addresses.contains(address) else { return nil }
            if addresses.count < Self.limit { addresses.insert(address) }
            return isDump ? nil : .newAddress
        case .address(var address, isGone: true):
            // A message about a removed address may have other flags than the one that added it.
            address.isLasting = true
            return addresses.remove(address).map { .goneAddress($0.address) }
        case .route(let route, let isGone):
            guard route.isChosen, !(route.interface.map(isForeign) ?? false) else { return nil }
            guard isGone || !routes.contains(route) else { return nil }
            if isGone { routes.remove(route) } else if routes.count < Self.limit { routes.insert(route) }
            return .route(route)
        case .dumpEnded: return nil
        }
    }

    /// Indices of the links, ours only, that have an address and no carrier: the kernel still routes packets to them.
    public var deadLinks: Set<UInt32> {
        let down = links.filter { !$0.value.isUp && !$0.value.isForeign }
        guard !down.isEmpty else { return [] }
        return Set(addresses.lazy.map(\.index).filter { down[$0] != nil })
    }

    private mutating func take(_ link: RouteMessage.Link) -> Bool {
        let old = links[link.index]
        let isForeign = link.isLoopback || link.isPort || Self.isForGuests(link.name)
        links[link.index] = Link(isUp: link.isUp, isForeign: isForeign)
        if !link.isUp { loseRoutes(through: link.index) }
        guard let old, old.isUp != link.isUp, !isForeign else { return false }
        return addresses.contains { $0.index == link.index }
    }

    /// The kernel does not report the removal of routes together with their link.
    private mutating func loseRoutes(through index: UInt32) { routes = routes.filter { $0.interface != index } }

    private func isForeign(_ index: UInt32) -> Bool { links[index]?.isForeign ?? false }

    /// Whether a link has the name of a bridge that Docker, Podman, libvirt, LXC or Kubernetes makes for guests: such
    /// bridges come and go with the guests, and do not lead to other networks.
    private static func isForGuests(_ name: String) -> Bool {
        if ["docker", "podman", "virbr", "lxcbr", "lxdbr", "incusbr", "cni"].contains(where: name.hasPrefix) {
            return true
        }
        // Docker's user-defined networks; not "br-lan" and the like.
        guard name.hasPrefix("br-"), name.utf8.count == 15 else { return false }
        return name.dropFirst(3).allSatisfy(\.isHexDigit)
    }
}
