import CCurl
import CLinux
import Glibc
import Platform
import Scheduling

/// The sockets and the one timer of a multi handle, on the event loop.
///
/// libcurl's callbacks end here. They only note; libcurl itself is called later, through `onReady`, and the kernel is told
/// at the end of the turn: what libcurl waits for changes to and fro while it works, and what it wants done at once is done
/// once for all transfers that began in the turn.
///
/// What it has the loop do refers to it, so it lives until `end()`; `CurlMulti` sees to that.
@Loop
final class HTTPSockets {
    /// A socket that libcurl waits for or did, and what for as it said last: nothing between two requests.
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
    /// Broken connections of which libcurl does not know yet.
    private var evicted: [HTTPConnection] = []
    /// Some may be closed already.
    private var connections: [HTTPConnection] = []
    /// Why the last socket could not be opened, if that was for want of descriptors or memory; libcurl does not tell.
    private(set) var shortage: String?
    /// Called when a descriptor is ready, or with nil when time is up.
    var onReady: (@Loop (_ descriptor: Int32?, _ ready: Interest) -> Void)?

    init(loop: EventLoop) { self.loop = loop }

    /// How many connections are open.
    var openConnections: Int { connections.count { $0.isOpen } }

    /// Whether a connection was broken of which libcurl is told at the end of the turn.
    var willTellOfEvicted: Bool { !evicted.isEmpty }

    /// Breaks all connections; libcurl is told before anything more is sent.
    func evictAll() {
        for connection in connections where connection.evict() { evicted.append(connection) }
        if !evicted.isEmpty { settleLater() }
    }

    // MARK: From libcurl

    /// The connection whose own end has this port.
    func connection(localPort: UInt16) -> HTTPConnection? {
        for connection in connections where connection.hasLocalPort(localPort) { return connection }
        return nil
    }

    /// libcurl waits for something else on a descriptor, or with an empty set for nothing.
    func watch(_ descriptor: Int32, for interest: Interest) {
        if let index = place(of: descriptor) {
            if watched[index].watch.isActive {
                guard interest != watched[index].wanted else { return }
                watched[index].wanted = interest
                // Between two requests the kernel is not told: the next one wants the same as the last.
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
            // Something came on an idle connection, mostly its end; libcurl looks before it uses it again.
            watched[index].watch.update([])
        } else {
            onReady?(descriptor, ready)
        }
    }

    /// Ends the watch of a descriptor that is closed, or about to be.
    private func unwatch(_ descriptor: Int32) {
        if let index = place(of: descriptor) { watched.remove(at: index).watch.cancel() }
    }

    /// Where a socket stands among those watched. Without a closure, for each call of one is checked by the runtime.
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
        // Of a socket of this number that libcurl closed by itself.
        unwatch(descriptor)
        connections.removeAll { !$0.isOpen || $0.descriptor == descriptor }
        connections.append(HTTPConnection(descriptor))
        return descriptor
    }

    /// Waits for nothing any more: libcurl is gone.
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

    /// Has libcurl do what is due, and tells the kernel what it waits for then.
    private func settle() {
        willSettle = false
        while let connection = evicted.popLast() {
            // Where it is closed already, what waited for this still has to be sent.
            onReady?(connection.isOpen ? connection.descriptor : nil, [.readable, .writable])
        }
        if isTimeUp {
            isTimeUp = false
            onReady?(nil, [])
        }
        for each in watched where !each.wanted.isEmpty { each.watch.update(each.wanted) }
    }
}
