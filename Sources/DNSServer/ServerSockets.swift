public import Platform

/// The sockets of all listen addresses, bound before privileges are dropped, or taken over; nothing is received from
/// them yet.
public struct ServerSockets: Sendable {
    /// The UDP sockets of each address, with one receiver for each thread.
    let udp: [UDPSockets]
    /// One listening TCP socket for each address.
    let tcp: [ListeningSocket]
    /// The listening sockets for DNS over TLS, and over HTTPS.
    var tls: [ListeningSocket] = []
    var https: [ListeningSocket] = []
    /// Those for HTTPDNS in plain http.
    var http: [ListeningSocket] = []
    /// What the process before did not finish.
    var work = UnfinishedWork()
    /// The addresses whose sockets were passed to this process.
    public var adopted: [SocketAddress] = []

    /// The listen addresses, in the order given, with the actual ports.
    public var addresses: [SocketAddress] { tcp.map(\.address) }

    /// Those at which DNS is served encrypted, with the actual ports.
    public var encrypted: [(transport: Transport, address: SocketAddress)] {
        tls.map { (.tls, $0.address) } + https.map { (.https, $0.address) }
    }

    /// Those at which HTTPDNS is served in plain http, with the actual ports.
    public var httpAddresses: [SocketAddress] { http.map(\.address) }

    /// How many threads add messages to dnstap: those over UDP, and the loop.
    public var dnstapProducers: Int { 1 + udp.reduce(0) { $0 + $1.receivers.count } }

    /// Attempts at finding a port that is free over both UDP and TCP, for port 0.
    private static let attempts = 16

    /// The descriptors of all sockets, to be passed to another process.
    public var descriptors: [(kind: PassedKind, numbers: [Int32])] {
        let replies = udp.filter { $0.sender !== $0.receivers.first }
        return [
            (.udp, udp.flatMap { $0.receivers.map { $0.descriptor.number } }),
            (.replies, replies.flatMap { $0.sender.numbers }), (.tcp, tcp.map { $0.descriptor.number }),
            (.tls, tls.map { $0.descriptor.number }), (.https, https.map { $0.descriptor.number }),
            (.http, http.map { $0.descriptor.number }),
        ]
    }

    /// Binds UDP and TCP on each address, and what DNS is served on encrypted, or HTTPDNS in plain http.
    ///
    /// - Parameters:
    ///   - addresses: port 0 means any port that is free over both UDP and TCP.
    ///   - threads: threads that receive from each address, at least 1; from one that was passed as many as it has sockets.
    ///   - passed: what is not bound again.
    /// - Throws: the first error, as one line that says what to do; nothing remains bound then.
    public static func bind(
        _ addresses: [SocketAddress], tls: [SocketAddress] = [], https: [SocketAddress] = [],
        http: [SocketAddress] = [], threads: Int,
        adopting passed: PassedSockets = PassedSockets()
    ) throws(SystemError) -> ServerSockets {
        var udp: [UDPSockets] = []
        var tcp: [ListeningSocket] = []
        for address in addresses {
            let pair = try bind(address, threads: threads, passed)
            udp.append(pair.udp)
            tcp.append(pair.tcp)
        }
        var sockets = ServerSockets(udp: udp, tcp: tcp, work: passed.work)
        for address in tls { sockets.tls.append(try listen(on: address, passed)) }
        for address in https { sockets.https.append(try listen(on: address, passed)) }
        for address in http { sockets.http.append(try listen(on: address, passed)) }
        sockets.adopted = (addresses + tls + https + http).filter {
            passed.udp(at: $0) != nil || passed.listener(at: $0) != nil
        }
        return sockets
    }

    private static func bind(
        _ address: SocketAddress, threads: Int, _ passed: PassedSockets
    ) throws(SystemError) -> (udp: UDPSockets, tcp: ListeningSocket) {
        if let udp = passed.udp(at: address) {
            return (udp, try listen(on: address, passed))
        }
        if let sender = passed.sender(at: address) {
            let udp = try UDPSocket.receivers(beside: sender, count: threads, isBlocking: true)
            return (udp, try listen(on: address, passed))
        }
        var attempt = 1
        while true {
            let udp = try UDPSocket.bind(
                address, count: max(1, threads), isBlocking: true, sharesPort: passed.isHeld(address.port))
            do {
                return (udp, try listen(on: udp.sender.address, passed))
            } catch {
                guard address.port == 0, attempt < attempts else { throw error }
                attempt += 1
            }
        }
    }

    private static func listen(
        on address: SocketAddress, _ passed: PassedSockets
    ) throws(SystemError) -> ListeningSocket {
        if let socket = passed.listener(at: address) { return socket }
        return try ListeningSocket(address, sharesPort: passed.isHeld(address.port))
    }
}

/// What another process passed to this one: the sockets of listen addresses, and the work that it left.
public struct PassedSockets: Sendable {
    private var receivers: [SocketAddress: [UDPSocket]] = [:]
    private var replies: [SocketAddress: UDPSocket] = [:]
    private var listeners: [SocketAddress: ListeningSocket] = [:]
    /// The addresses whose UDP sockets another server has bound: the service manager can close them.
    private var bound: Set<SocketAddress> = []
    /// The UDP sockets taken, by their number in the kernel.
    private var taken: Set<UInt64> = []
    /// Whether another server still serves by them.
    private let isHeld: Bool
    private var ports: Set<UInt16> = []
    /// What the other process did not finish.
    public let work: UnfinishedWork
    /// Why some could not be taken over, as lines for the log.
    public private(set) var failures: [SystemError] = []

    /// No socket.
    public init() { self.init([]) }

    /// Sorts what was passed: by name what a server has passed, by type the sockets of socket units.
    ///
    /// - Parameter isHeld: whether that server still serves by its sockets: where it has a port, further ones share it.
    public init(_ passed: [PassedDescriptor], isHeld: Bool = false) {
        self.isHeld = isHeld
        var connections: [PassedDescriptor] = []
        var file: [UInt8] = []
        var sockets: [PassedDescriptor] = []
        for each in passed {
            switch PassedKind(rawValue: each.name) {
            case .connection?: connections.append(each)
            case .queries?: file = each.contents(limit: UnfinishedWork.longest)
            case .udp?, .replies?, .tcp?, .tls?, .https?, .http?, nil: sockets.append(each)
            case .commands?, .successor?: continue
            }
        }
        work = UnfinishedWork(file, connections)
        for each in sockets where PassedKind(rawValue: each.name) == nil { take(each) }
        for each in sockets where PassedKind(rawValue: each.name) != nil { take(each) }
    }

    private mutating func take(_ passed: PassedDescriptor) {
        do throws(SystemError) {
            let isDatagram = passed.isDatagram
            // That of a socket unit is stored, too, where a server has passed it: it is one socket, and the unit's.
            if isDatagram, let inode = passed.inode, !taken.insert(inode).inserted { return }
            if isHeld { passed.sharePort() }
            guard let descriptor = passed.take() else { return }
            guard isDatagram else {
                let socket = try ListeningSocket(adopting: descriptor)
                listeners[socket.address] = socket
                ports.insert(socket.address.port)
                return
            }
            let sends = passed.name == PassedKind.replies.rawValue
            let other = sends ? boundAddress(of: descriptor.number).flatMap { replies[$0] } : nil
            let socket = try UDPSocket(adopting: descriptor, isBlocking: true, beside: other)
            ports.insert(socket.address.port)
            if PassedKind(rawValue: passed.name) != nil { bound.insert(socket.address) }
            if sends {
                replies[socket.address] = socket
            } else {
                receivers[socket.address, default: []].append(socket)
            }
        } catch {
            failures.append(error)
        }
    }

    /// The UDP sockets of an address, all of its group: one that nothing reads would lose the queries of its clients.
    func udp(at address: SocketAddress) -> UDPSockets? {
        guard let receivers = receivers[address], let first = receivers.first else { return nil }
        return UDPSockets(receivers: receivers, sender: replies[address] ?? first)
    }

    /// The listening socket of an address, whatever is spoken there.
    func listener(at address: SocketAddress) -> ListeningSocket? { listeners[address] }

    /// The socket that sends, of an address whose receivers did not fit, while another server still serves by these.
    func sender(at address: SocketAddress) -> UDPSocket? {
        isHeld && receivers[address] == nil ? replies[address] : nil
    }

    /// Whether another server still has the port.
    func isHeld(_ port: UInt16) -> Bool { isHeld && ports.contains(port) }

    /// Closes the sockets that do not fit: those of other addresses, and groups of another number of threads; of these the
    /// socket that sends stays while another server holds them.
    ///
    /// - Parameters:
    ///   - others: those that serve encrypted or over HTTP, over TCP alone.
    ///   - threads: how many receive from each address; nil: as many as there are sockets. What a socket unit has bound
    ///     stays as it is.
    /// - Returns: what was closed, for the log.
    public mutating func closeUnfit(
        _ addresses: [SocketAddress], others: [SocketAddress] = [], threads: Int?
    ) -> [String] {
        var closed: [String] = []
        for address in Set(receivers.keys).union(replies.keys) {
            let count = receivers[address]?.count ?? 0
            let fits = threads == nil || threads == count || !bound.contains(address)
            guard count == 0 || !fits || !addresses.contains(address) else { continue }
            receivers[address] = nil
            if !isHeld || !addresses.contains(address) { replies[address] = nil }
            closed.append("\(address) (\(Transport.udp.rawValue))")
        }
        for address in listeners.keys where !(addresses + others).contains(address) {
            listeners[address] = nil
            closed.append("\(address) (\(Transport.tcp.rawValue))")
        }
        return closed.sorted()
    }
}
