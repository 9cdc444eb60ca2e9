import CCurl
import DNSWire
import Platform
import Scheduling

/// The HTTP/1.1 connections to one address of a service, each for one request at a time, on libcurl.
///
/// libcurl is never called from one of its own callbacks: those record what is wanted, which is done at the end of the
/// loop's turn.
@Loop
final class HTTP1Connections: HTTPCarrier {
    private let origin: HTTPOrigin
    // Released in this order: handles before the multi handle, and both before what they use.
    private var idle: [HTTPHandle] = []
    /// Those that carry a request.
    private var busy: [HTTPHandle] = []
    private let multi: CurlMulti
    private let share: CurlShare
    private let connectTo: CurlList
    private let sockets: HTTPSockets
    /// Called when requests may have ended, or may be added again.
    private let changed: @Loop () -> Void

    /// - Parameter changed: called when requests have ended, or may be added again.
    /// - Throws: `UpstreamFailure.network` when libcurl has no memory or lacks a feature.
    init(_ origin: HTTPOrigin, loop: EventLoop, changed: @escaping @Loop () -> Void) throws(UpstreamFailure) {
        self.origin = origin
        self.changed = changed
        sockets = HTTPSockets(loop: loop)
        do {
            multi = try CurlMulti(sockets, connections: HTTPLimits.unsharedRequests)
            share = try CurlShare()
            connectTo = try CurlList([origin.connectTo])
        } catch {
            throw UpstreamFailure(error)
        }
        sockets.onReady = { [weak self] descriptor, ready in self?.serve(descriptor, ready) }
    }

    isolated deinit { (idle, busy) = ([], []) }

    /// The number of open connections, idle ones included.
    var count: Int { sockets.openConnections }

    /// Whether requests may be added: not until libcurl has seen that connections were shut down by us, else it would
    /// use them.
    var mayAdd: Bool { !sockets.willTellOfEvicted }

    /// Gives libcurl a request, sent from the end of this turn on.
    func add(_ transfer: HTTPTransfer) throws(UpstreamFailure) {
        do throws(CurlError) {
            let handle = if let spare = idle.popLast() { spare } else { try newHandle() }
            // A second idle connection may be dead like the first.
            try handle.prepare(transfer, isFresh: transfer.isRepeated || transfer.hasBroken)
            unsafe try multi.add(handle.pointer)
            busy.append(handle)
            limitConnections()
            transfer.carrier = self
        } catch {
            throw UpstreamFailure(error)
        }
    }

    /// Lets libcurl close, with the next end of a request, an idle connection that the present requests do not need. Of
    /// requests that end in one call of it all may stay, one less with each later request.
    private func limitConnections() { multi.setOpenConnections(max(HTTPLimits.connections, busy.count)) }

    private func newHandle() throws(CurlError) -> HTTPHandle {
        try HTTPHandle(origin, sockets: sockets, share: share, connectTo: connectTo)
    }

    /// Withdraws a request from libcurl.
    func withdraw(_ transfer: HTTPTransfer) {
        transfer.carrier = nil
        guard let index = busy.firstIndex(where: { $0.transfer === transfer }) else { return }
        let handle = busy.remove(at: index)
        limitConnections()
        unsafe multi.remove(handle.pointer)
        handle.reset()
        if idle.count < HTTPLimits.connections { idle.append(handle) }
    }

    /// libcurl reads whatever there is.
    func readUnread() {}

    /// HTTP/1.1 has no question for it: the kernel knows whether the request has arrived.
    func test(_ transfer: HTTPTransfer) {}

    func evictIfDead(_ transfer: HTTPTransfer) {
        guard let connection = busy.first(where: { $0.transfer === transfer })?.connection,
            connection.isUnacknowledged
        else { return }
        sockets.evict(connection)
    }

    /// Shuts all connections down.
    func evict() {
        for handle in busy { handle.noteEviction() }
        sockets.evictAll()
    }

    private func serve(_ descriptor: Int32?, _ ready: Interest) {
        let events =
            (ready.contains(.readable) ? CURL_CSELECT_IN : 0) | (ready.contains(.writable) ? CURL_CSELECT_OUT : 0)
        multi.act(on: descriptor, events)
        while let (easy, code) = unsafe multi.nextEnded() {
            guard let object = unsafe ccurl_get_private(easy) else { continue }
            let handle = unsafe Unmanaged<HTTPHandle>.fromOpaque(object).takeUnretainedValue()
            handle.transfer?.attemptEnded(end(of: handle, code))
        }
        changed()
    }

    private func end(of handle: HTTPHandle, _ code: CURLcode) -> HTTPEnd {
        switch code {
        case CURLE_OK: return .reply(handle.response, isHTTP2: false)
        case CURLE_PEER_FAILED_VERIFICATION:
            return .refusedName(UpstreamFailure(code, verification: handle.verification))
        // A lack of descriptors in this process is no fault of the address.
        case CURLE_COULDNT_CONNECT where sockets.shortage != nil:
            return .failed(.overloaded("no socket for \(origin.addressText): \(sockets.shortage ?? "")"))
        default: break
        }
        let failure = UpstreamFailure(code)
        if handle.isEvicted { return .evicted(failure) }
        guard handle.connection != nil else { return .unmade(failure) }
        return UpstreamFailure.isBrokenConnection(code) ? .broken(failure) : .failed(failure)
    }
}
