import CMicrohttpd
import DNSResolver
import DNSWire
import Glibc
package import Platform
package import Scheduling

/// The control API on a Unix socket, or the monitoring interface on a TCP port, through libmicrohttpd.
///
/// The library has no thread of its own: its epoll descriptor is watched by the event loop. A request is suspended
/// while it is executed, so that the loop never waits for it.
@Loop
@safe package final class ControlServer {
    /// The most clients at once; for a further one the client that has been idle for longest is disconnected.
    private nonisolated static let connections = 16
    /// The most connections of the library at once, including those closed that it has not noticed yet; further ones
    /// wait to be accepted.
    private nonisolated static let accepted = UInt32(2 * connections)
    /// Bytes of the library's memory for one connection: request line, headers and parameters.
    private nonisolated static let connectionMemory = 32 << 10
    /// Seconds after which a silent connection is closed.
    private nonisolated static let idle: UInt32 = 10

    private let handler: any RequestHandler
    private let loop: EventLoop
    private var daemon: OpaquePointer?
    private var watch: Watch?
    private var timer: LoopTimer?
    /// Requests being executed.
    private var exchanges: [ObjectIdentifier: ControlExchange] = [:]
    /// The streams, as long as their connections are open.
    private var streams: [Weak<ControlStream>] = []
    /// Connected clients: all count as this machine, so that only the time for which each was idle matters.
    private var holdings = FairShare(capacity: ControlServer.connections)
    private var clients: [FairShare.Ticket: Client] = [:]

    private struct Client {
        let socket: Int32
        /// Whether a request of it is being executed.
        var isBusy = false
    }

    /// Begins to serve the control API on a listening socket, until `stop()`, which must be called before this object is
    /// released.
    package convenience init(
        on listener: consuming Descriptor, target: any ControlTarget, loop: EventLoop
    ) throws(SystemError) {
        try self.init(on: listener, handler: ControlAPI(target: target), loop: loop)
    }

    /// The same for the monitoring interface.
    ///
    /// - Parameters:
    ///   - hostName: this machine's own name.
    ///   - looksUp: whether the page looks names up.
    package convenience init(
        monitoring target: any MonitorTarget, on listener: consuming Descriptor, hostName: String, looksUp: Bool,
        loop: EventLoop
    ) throws(SystemError) {
        try self.init(
            on: listener, handler: MonitorAPI(target: target, hostName: hostName, looksUp: looksUp, clock: loop),
            loop: loop)
    }

    private init(
        on listener: consuming Descriptor, handler: any RequestHandler, loop: EventLoop
    ) throws(SystemError) {
        self.handler = handler
        self.loop = loop
        let number = listener.number
        let data = unsafe Unmanaged.passUnretained(self).toOpaque()
        let started = unsafe cmicrohttpd_start(
            number, controlRequestArrived, controlRequestEnded, controlClientChanged, data, Self.accepted,
            Self.connectionMemory, Self.idle)
        guard let started = unsafe started else { throw .last("start the control server") }
        // The library owns it now.
        _ = listener.release()
        do throws(SystemError) {
            watch = unsafe try loop.watch(cmicrohttpd_epoll(started), for: .readable) { [weak self] _ in self?.run() }
        } catch {
            unsafe MHD_stop_daemon(started)
            throw error
        }
        unsafe daemon = unsafe started
        run()
    }

    /// Closes all connections and the socket. A second call does nothing.
    package func stop() {
        guard let daemon = unsafe daemon.take() else { return }
        watch?.cancel()
        timer?.cancel()
        for exchange in exchanges.values {
            exchange.task?.cancel()
            exchange.response = .fault(503, "the server is stopping")
            exchange.resume()
        }
        exchanges = [:]
        for stream in streams { stream.object?.end() }
        streams = []
        unsafe MHD_run(daemon)
        unsafe MHD_stop_daemon(daemon)
    }

    /// Lets the library do its pending work, and schedules the next call for which it needs no event.
    private func run() {
        guard let daemon = unsafe daemon else { return }
        timer?.cancel()
        timer = nil
        let before = unsafe cmicrohttpd_connections(daemon)
        unsafe MHD_run(daemon)
        var milliseconds: UInt64 = 0
        // It stops accepting at its limit of connections, and resumes only in the run after the one in which some
        // ended; it does not request that run itself.
        if unsafe cmicrohttpd_connections(daemon) >= before {
            guard unsafe MHD_get_timeout(daemon, &milliseconds) == cmicrohttpd_yes else { return }
        }
        timer = loop.schedule(after: .milliseconds(Int64(clamping: milliseconds))) { [weak self] in self?.run() }
    }

    // MARK: For the callbacks

    /// Registers a client that has connected. Returns its ticket.
    fileprivate func connected(_ socket: Int32) -> FairShare.Ticket {
        if holdings.isFull { closeIdlest() }
        let ticket = holdings.add(for: .machine)
        clients[ticket] = Client(socket: socket)
        return ticket
    }

    /// Shuts down the connection that has been idle for longest; the library closes it at its next run.
    private func closeIdlest() {
        for _ in 0..<holdings.count {
            guard let ticket = holdings.first(of: .machine), let client = clients[ticket] else { return }
            if client.isBusy {
                holdings.renew(ticket)
            } else {
                holdings.remove(ticket)
                clients[ticket] = nil
                shutdown(client.socket, Int32(SHUT_RDWR))
                return
            }
        }
    }

    /// Removes a client whose connection has ended.
    fileprivate func disconnected(_ ticket: FairShare.Ticket, _ socket: Int32) {
        guard clients[ticket]?.socket == socket else { return }
        clients[ticket] = nil
        holdings.remove(ticket)
    }

    private func setBusy(_ isBusy: Bool, _ exchange: ControlExchange) {
        guard let client = exchange.client, clients[client.ticket]?.socket == client.socket else { return }
        clients[client.ticket]?.isBusy = isBusy
        holdings.renew(client.ticket)
    }

    /// Begins a stream.
    fileprivate func stream(_ parts: ControlParts, to connection: OpaquePointer) -> ControlStream {
        let stream = unsafe ControlStream(parts, to: connection, clock: loop) { [weak self] in self?.run() }
        streams.removeAll { $0.object == nil }
        streams.append(Weak(object: stream))
        return stream
    }

    /// The whole request has arrived: executes it in a task, and then resumes the connection.
    fileprivate func begin(_ exchange: ControlExchange) {
        setBusy(true, exchange)
        exchanges[ObjectIdentifier(exchange)] = exchange
        exchange.task = Loop.spawn { [self] in
            let response = await handler.respond(to: exchange.request)
            guard exchanges.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return }
            exchange.response = response
            setBusy(false, exchange)
            exchange.resume()
            run()
        }
    }
}

/// Called with the head of a request, then with each part of its body, then without; and once more after a suspension.
private func controlRequestArrived(
    _ data: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?, _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let data = unsafe data, let connection = unsafe connection, let path = unsafe path,
        let method = unsafe method, let uploadSize = unsafe uploadSize, let state = unsafe state
    else { return cmicrohttpd_no }
    guard let known = unsafe state.pointee else {
        let request = unsafe ControlRequest(
            method: String(cString: method), path: String(cString: path), parameters: parameters(of: connection),
            host: field("Host", of: connection), accept: field("Accept", of: connection),
            site: field("Sec-Fetch-Site", of: connection))
        unsafe state.pointee =
            unsafe Loop.assumeIsolated {
                unsafe Reference(Unmanaged.passRetained(ControlExchange(request)).toOpaque())
            }.pointer
        return cmicrohttpd_yes
    }
    nonisolated(unsafe) let part = unsafe UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
    unsafe uploadSize.pointee = 0
    nonisolated(unsafe) let (owner, exchanged, client) = unsafe (data, known, connection)
    return Loop.assumeIsolated {
        let exchange = unsafe Unmanaged<ControlExchange>.fromOpaque(exchanged).takeUnretainedValue()
        if unsafe !part.isEmpty { return unsafe exchange.take(part) ? cmicrohttpd_yes : cmicrohttpd_no }
        let server = unsafe Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue()
        if let response = exchange.response {
            return unsafe exchange.reply(response, to: client) { unsafe server.stream($0, to: client) }
        }
        exchange.client = unsafe clientNumber(of: client).map { unsafe ($0, cmicrohttpd_socket(client)) }
        unsafe exchange.suspend(client)
        server.begin(exchange)
        return cmicrohttpd_yes
    }
}

/// Called when a client has connected, and when its connection has ended.
private func controlClientChanged(
    _ data: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
    guard let data = unsafe data, let connection = unsafe connection, let context = unsafe context else { return }
    let socket = unsafe cmicrohttpd_socket(connection)
    nonisolated(unsafe) let owner = unsafe data
    if change == cmicrohttpd_connected {
        let ticket = Loop.assumeIsolated {
            unsafe Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue().connected(socket)
        }
        // The ticket plus 1, since 0 would be a null pointer.
        unsafe context.pointee = unsafe UnsafeMutableRawPointer(bitPattern: ticket + 1)
    } else if let ticket = unsafe clientNumber(of: connection) {
        Loop.assumeIsolated {
            unsafe Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue().disconnected(ticket, socket)
        }
    }
}

/// The ticket that `controlClientChanged` has stored for a connection.
private func clientNumber(of connection: OpaquePointer) -> FairShare.Ticket? {
    unsafe cmicrohttpd_context(connection).map { Int(bitPattern: $0) - 1 }
}

/// Called once for each request for which `controlRequestArrived` was called.
private func controlRequestEnded(
    _ data: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
    guard let known = unsafe state?.pointee.take() else { return }
    unsafe Unmanaged<ControlExchange>.fromOpaque(known).release()
}

/// The first field of this name; nil without one, or when it is not valid text.
private func field(_ name: String, of connection: OpaquePointer) -> String? {
    unsafe MHD_lookup_connection_value(connection, cmicrohttpd_fields, name).flatMap {
        unsafe String(validatingCString: $0)
    }
}

/// The parameters in the query component of a request, the last of equal ones; nil when one is not valid text.
private func parameters(of connection: OpaquePointer) -> [String: String]? {
    var parameters: [String: String]? = [:]
    unsafe withUnsafeMutablePointer(to: &parameters) { pointer in
        _ = unsafe MHD_get_connection_values_n(connection, cmicrohttpd_parameters, takeParameter, pointer)
    }
    return parameters
}

private func takeParameter(
    _ data: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ key: UnsafePointer<CChar>?, _ keySize: Int,
    _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
    guard let data = unsafe data else { return cmicrohttpd_no }
    let parameters = unsafe data.assumingMemoryBound(to: [String: String]?.self)
    guard let key = unsafe text(key, keySize), let value = unsafe text(value, valueSize) else {
        unsafe parameters.pointee = nil
        return cmicrohttpd_no
    }
    unsafe parameters.pointee?[key] = value
    return cmicrohttpd_yes
}

/// Text of UTF-8 without a zero byte, else nil; a null pointer is an empty text.
private func text(_ start: UnsafePointer<CChar>?, _ size: Int) -> String? {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : size)
    return unsafe bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
}

/// A pointer returned from the loop's isolation.
@safe private struct Reference: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    init(_ pointer: UnsafeMutableRawPointer) { unsafe self.pointer = unsafe pointer }
}
