import CCurl
import Glibc
import Platform
import Scheduling

/// The sockets and the one timer of a multi handle, on the event loop.
///
/// libcurl's callbacks end here. They only note and watch; libcurl itself is called later, through `onReady`.
@Loop
final class HTTPSockets {
    /// After this time without an acknowledgement the kernel gives a connection up (TCP_USER_TIMEOUT), three attempts'
    /// worth: it bounds how long a black hole goes unnoticed when no attempt lives long enough to time out.
    static let userTimeout: Duration = .seconds(3)

    private let loop: EventLoop
    private var watches: [Int32: Watch] = [:]
    private var timer: LoopTimer?
    /// The connections by descriptor; some may be closed already.
    private var connections: [Int32: HTTPConnection] = [:]
    /// Why the last socket could not be opened, if that was for want of descriptors or memory; libcurl does not tell.
    private(set) var shortage: String?
    /// Called when a descriptor is ready, or with nil when time is up.
    var onReady: (@Loop (_ descriptor: Int32?, _ ready: Interest) -> Void)?

    init(loop: EventLoop) { self.loop = loop }

    /// The connection whose own end has this port.
    private func connection(localPort: UInt16) -> HTTPConnection? {
        connections.values.first { $0.localPort == localPort && $0.isOpen }
    }

    /// Breaks the connections on which requests have got nothing for `limit`. Returns the descriptors, for libcurl to
    /// be told.
    func evictSilent(for limit: Duration) -> [Int32] {
        let now = loop.now
        return connections.values.filter { $0.isSilent(for: limit, at: now) }.compactMap { $0.evict() }
    }

    /// A request is about to be sent on the connection whose own end has this port.
    func willSend(localPort: UInt16) -> HTTPConnection? {
        let connection = connection(localPort: localPort)
        connection?.willSend(at: loop.now)
        return connection
    }

    /// How many connections are open.
    var openConnections: Int { connections.values.count { $0.isOpen } }

    /// Breaks all connections. Returns the descriptors, for libcurl to be told.
    func evictAll() -> [Int32] { connections.values.compactMap { $0.evict() } }

    // MARK: From libcurl

    func watch(_ descriptor: Int32, for interest: Interest?) {
        guard let interest else {
            watches.removeValue(forKey: descriptor)?.cancel()
            return
        }
        if let watch = watches[descriptor], watch.isActive { return watch.update(interest) }
        // Without a watch the transfers on it run into their deadlines.
        watches[descriptor] = try? loop.watch(descriptor, for: interest) { [weak self] ready in
            self?.onReady?(descriptor, ready)
        }
    }

    func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0 else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [weak self] in self?.onReady?(nil, []) }
    }

    func open(family: Int32, type: Int32, transport: Int32) -> Int32? {
        let descriptor = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), transport)
        shortage = descriptor < 0 ? Self.shortage(errno) : nil
        guard descriptor >= 0 else { return nil }
        // An old kernel without it only takes longer.
        _ = ccurl_set_user_timeout(descriptor, UInt32(Self.userTimeout.components.seconds) * 1_000)
        // Of a socket of this number that libcurl closed by itself.
        watch(descriptor, for: nil)
        connections = connections.filter { $0.value.isOpen }
        connections[descriptor] = HTTPConnection(descriptor)
        return descriptor
    }

    private static func shortage(_ error: Int32) -> String? {
        switch error {
        case EMFILE, ENFILE: "out of file descriptors"
        case ENOBUFS, ENOMEM: "out of memory for sockets"
        default: nil
        }
    }

    func close(_ descriptor: Int32) {
        watch(descriptor, for: nil)
        connections[descriptor] = nil
        _ = Glibc.close(descriptor)
    }
}
