import CCurl
import CLinux
import Glibc
import Platform
import Scheduling

/// The sockets and the one timer of a multi handle, on the event loop.
///
/// libcurl's callbacks end here. They only record; libcurl itself is called later, through `onReady`, and the kernel's
/// registration is updated at the end of the turn: libcurl changes what it waits for back and forth while it works, and
/// what it wants done at once is done once for all transfers that began in the turn.
///
/// The callbacks that it registers with the loop retain it, so it lives until `end()`, which `CurlMulti` calls.
@Loop
final class HTTPSockets {
    /// A socket that libcurl waits for or has waited for, and the last events it wanted: none between two requests.
    private struct Watched {
        let watch: Watch
        var wanted: Interest
    }

    private let loop: EventLoop
    /// At most one for each connection: few.
    private var watched: [Watched] = []
    private var timer: LoopTimer?
    /// Whether libcurl wants to be called without delay.
    private var isTimeUp = false
    private var willSettle = false
    /// Connections that were shut down and that libcurl was not called for yet.
    private var evicted: [HTTPConnection] = []
    /// Some may be closed already.
    private var connections: [HTTPConnection] = []
    /// Why the last socket could not be opened, if that was for lack of descriptors or memory; libcurl does not report
    /// it.
    private(set) var shortage: String?
    /// Called when a descriptor is ready, or with nil when the timer has expired.
    var onReady: (@Loop (_ descriptor: Int32?, _ ready: Interest) -> Void)?

    init(loop: EventLoop) { self.loop = loop }

    /// The number of open connections.
    var openConnections: Int { connections.count { $0.isOpen } }

    /// Whether libcurl is called at the end of the turn for a connection that was shut down.
    var willTellOfEvicted: Bool { !evicted.isEmpty }

    /// Shuts all connections down; libcurl is called for them before anything more is sent.
    func evictAll() { for connection in connections { evict(connection) } }

    /// Shuts one down.
    func evict(_ connection: HTTPConnection) {
        guard connection.evict() else { return }
        evicted.append(connection)
        settleLater()
    }

    // MARK: From libcurl

    /// The connection whose local port this is.
    func connection(localPort: UInt16) -> HTTPConnection? {
        for connection in connections where connection.hasLocalPort(localPort) { return connection }
        return nil
    }

    /// Sets the events that libcurl waits for on a descriptor; an empty set for none.
    func watch(_ descriptor: Int32, for interest: Interest) {
        if let index = place(of: descriptor) {
            if watched[index].watch.isActive {
                guard interest != watched[index].wanted else { return }
                watched[index].wanted = interest
                // Between two requests the kernel's registration stays: the next request wants the same events as the
                // last.
                if !interest.isEmpty { settleLater() }
                return
            }
            watched.remove(at: index)
        }
        // Without a watch the transfers on it run into their deadlines.
        guard !interest.isEmpty,
            let watch = try? loop.watch(descriptor, for: interest, { [self] in deliver($0, on: descriptor) })
        else { return }
        watched.append(Watched(watch: watch, wanted: interest))
    }

    private func deliver(_ ready: Interest, on descriptor: Int32) {
        guard let index = place(of: descriptor) else { return }
        if watched[index].wanted.isEmpty {
            // Data on an idle connection, mostly its end; libcurl checks the connection before it uses it again.
            watched[index].watch.update([])
        } else {
            onReady?(descriptor, ready)
        }
    }

    /// Ends the watch of a descriptor that is closed, or about to be.
    private func unwatch(_ descriptor: Int32) {
        if let index = place(of: descriptor) { watched.remove(at: index).watch.cancel() }
    }

    /// The index of a watched socket. Without a closure, since the runtime checks isolation at each call of one.
    private func place(of descriptor: Int32) -> Int? {
        for index in watched.indices where watched[index].watch.descriptor == descriptor { return index }
        return nil
    }

    func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        isTimeUp = milliseconds == 0
        if isTimeUp { settleLater() }
        guard milliseconds > 0 else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [self] in onReady?(nil, []) }
    }

    func open(family: Int32, type: Int32, transport: Int32) -> Int32? {
        let descriptor = socket(family, type | Int32(SOCK_CLOEXEC.rawValue), transport)
        shortage = descriptor < 0 ? HTTPSocket.shortage(errno) : nil
        guard descriptor >= 0 else { return nil }
        HTTPSocket.limitSilence(of: descriptor)
        // The watch of a socket with this number that libcurl closed without its callback.
        unwatch(descriptor)
        connections.removeAll { !$0.isOpen || $0.descriptor == descriptor }
        connections.append(HTTPConnection(descriptor))
        return descriptor
    }

    /// Ends all watches: the multi handle was released.
    func end() {
        for each in watched { each.watch.cancel() }
        watched = []
        timer?.cancel()
        timer = nil
        onReady = nil
    }

    func close(_ descriptor: Int32) {
        unwatch(descriptor)
        connections.removeAll { $0.descriptor == descriptor }
        _ = Glibc.close(descriptor)
    }

    // MARK: The end of a turn

    private func settleLater() {
        guard !willSettle else { return }
        willSettle = true
        loop.atTurnEnd { [self] in settle() }
    }

    /// Calls libcurl for what is due, and then updates the kernel's registrations.
    private func settle() {
        willSettle = false
        while let connection = evicted.popLast() {
            // Even if it is closed already, requests that waited for this call must be sent.
            onReady?(connection.isOpen ? connection.descriptor : nil, [.readable, .writable])
        }
        if isTimeUp {
            isTimeUp = false
            onReady?(nil, [])
        }
        for each in watched where !each.wanted.isEmpty { each.watch.update(each.wanted) }
    }
}
