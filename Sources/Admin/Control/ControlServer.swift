import CMicrohttpd
import DNSResolver
import DNSWire
import Glibc
package import Platform
package import Scheduling

/// The control API on a Unix socket, through libmicrohttpd.
///
/// The library has no thread of its own: its epoll descriptor is one more descriptor of the event loop. A request is
/// suspended while its work is done, so that the loop never waits for it.
@Loop
package final class ControlServer {
    /// Clients at once; for a further one the client that has been idle for longest is closed.
    private nonisolated static let connections = 16
    /// Clients that the library has at once, until it has noticed which were closed; further ones wait to be accepted.
    private nonisolated static let accepted = UInt32(2 * connections)
    /// Bytes that the library has for one connection: request line, headers and parameters.
    private nonisolated static let connectionMemory = 32 << 10
    /// Seconds after which a silent connection is closed.
    private nonisolated static let idle: UInt32 = 10
    /// Bytes of a body past the limit that are still swallowed, so that the client hears why.
    nonisolated static let swallowed = 64 << 10

    private let api: ControlAPI
    private let loop: EventLoop
    private var daemon: OpaquePointer?
    private var watch: Watch?
    private var timer: LoopTimer?
    /// Requests whose work is under way.
    private var exchanges: [ObjectIdentifier: ControlExchange] = [:]
    /// Connected clients: all of this machine, so that only how long each was idle counts.
    private var holdings = FairShare(capacity: ControlServer.connections)
    private var clients: [FairShare.Ticket: Client] = [:]

    private struct Client {
        let socket: Int32
        /// Whether the work of a request of it is under way.
        var isBusy = false
    }

    /// Begins to serve on a listening socket, until `stop()`, which must come before this goes.
    package init(on listener: consuming Descriptor, target: any ControlTarget, loop: EventLoop) throws(SystemError) {
        api = ControlAPI(target: target)
        self.loop = loop
        let number = listener.number
        let data = Unmanaged.passUnretained(self).toOpaque()
        let started = cmicrohttpd_start(
            number, controlRequestArrived, controlRequestEnded, controlClientChanged, data, Self.accepted,
            Self.connectionMemory, Self.idle)
        guard let started else { throw .last("start the control server") }
        // It is the library's now.
        _ = listener.release()
        do throws(SystemError) {
            watch = try loop.watch(cmicrohttpd_epoll(started), for: .readable) { [weak self] _ in self?.run() }
        } catch {
            MHD_stop_daemon(started)
            throw error
        }
        daemon = started
        run()
    }

    /// Ends all connections and closes the socket. Harmless the second time.
    package func stop() {
        guard let daemon = daemon.take() else { return }
        watch?.cancel()
        timer?.cancel()
        for exchange in exchanges.values {
            exchange.task?.cancel()
            exchange.response = .fault(503, "the server is stopping")
            exchange.resume()
        }
        exchanges = [:]
        MHD_run(daemon)
        MHD_stop_daemon(daemon)
    }

    /// Lets the library do what it can now, and asks when it wants to be called again without being woken.
    private func run() {
        guard let daemon else { return }
        timer?.cancel()
        timer = nil
        let before = cmicrohttpd_connections(daemon)
        MHD_run(daemon)
        var milliseconds: UInt64 = 0
        // It stops listening when it has as many connections as it may, and begins again only in the run after the one
        // in which some ended; of itself it does not ask for that run.
        if cmicrohttpd_connections(daemon) >= before {
            guard MHD_get_timeout(daemon, &milliseconds) == cmicrohttpd_yes else { return }
        }
        timer = loop.schedule(after: .milliseconds(Int64(clamping: milliseconds))) { [weak self] in self?.run() }
    }

    // MARK: For the callbacks

    /// A client has connected. Returns its number.
    fileprivate func connected(_ socket: Int32) -> FairShare.Ticket {
        if holdings.isFull { closeIdlest() }
        let ticket = holdings.add(for: .machine)
        clients[ticket] = Client(socket: socket)
        return ticket
    }

    /// Ends the connection that has been idle for longest; the library closes it as soon as it looks.
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

    /// A client's connection has ended.
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

    /// The whole request is here: does its work aside, and goes on with it then.
    fileprivate func begin(_ exchange: ControlExchange) {
        setBusy(true, exchange)
        exchanges[ObjectIdentifier(exchange)] = exchange
        exchange.task = Loop.spawn { [self] in
            let response = await api.respond(to: exchange.request)
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
    guard let data, let connection, let path, let method, let uploadSize, let state else { return cmicrohttpd_no }
    guard let known = state.pointee else {
        let request = ControlRequest(
            method: String(cString: method), path: String(cString: path), parameters: parameters(of: connection))
        state.pointee =
            Loop.assumeIsolated {
                Reference(Unmanaged.passRetained(ControlExchange(request)).toOpaque())
            }.pointer
        return cmicrohttpd_yes
    }
    nonisolated(unsafe) let part = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
    uploadSize.pointee = 0
    nonisolated(unsafe) let (owner, exchanged, client) = (data, known, connection)
    return Loop.assumeIsolated {
        let exchange = Unmanaged<ControlExchange>.fromOpaque(exchanged).takeUnretainedValue()
        if !part.isEmpty { return exchange.take(part) ? cmicrohttpd_yes : cmicrohttpd_no }
        if let response = exchange.response { return exchange.reply(response, to: client) }
        exchange.client = clientNumber(of: client).map { ($0, cmicrohttpd_socket(client)) }
        exchange.suspend(client)
        Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue().begin(exchange)
        return cmicrohttpd_yes
    }
}

/// Called when a client has connected, and when its connection has ended.
private func controlClientChanged(
    _ data: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ change: MHD_ConnectionNotificationCode
) {
    guard let data, let connection, let context else { return }
    let socket = cmicrohttpd_socket(connection)
    nonisolated(unsafe) let owner = data
    if change == cmicrohttpd_connected {
        let ticket = Loop.assumeIsolated {
            Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue().connected(socket)
        }
        // Its number and 1, for 0 would be no pointer.
        context.pointee = UnsafeMutableRawPointer(bitPattern: ticket + 1)
    } else if let ticket = clientNumber(of: connection) {
        Loop.assumeIsolated {
            Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue().disconnected(ticket, socket)
        }
    }
}

/// What `controlClientChanged` has stored for a connection.
private func clientNumber(of connection: OpaquePointer) -> FairShare.Ticket? {
    cmicrohttpd_context(connection).map { Int(bitPattern: $0) - 1 }
}

/// Called once for each request that the other one was called for.
private func controlRequestEnded(
    _ data: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
    guard let known = state?.pointee.take() else { return }
    Unmanaged<ControlExchange>.fromOpaque(known).release()
}

/// The parameters in the query of a request, of equal ones the last; nil when one is no text.
private func parameters(of connection: OpaquePointer) -> [String: String]? {
    var parameters: [String: String]? = [:]
    withUnsafeMutablePointer(to: &parameters) { pointer in
        _ = MHD_get_connection_values_n(connection, cmicrohttpd_parameters, takeParameter, pointer)
    }
    return parameters
}

private func takeParameter(
    _ data: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ key: UnsafePointer<CChar>?, _ keySize: Int,
    _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
    guard let data else { return cmicrohttpd_no }
    let parameters = data.assumingMemoryBound(to: [String: String]?.self)
    guard let key = text(key, keySize), let value = text(value, valueSize) else {
        parameters.pointee = nil
        return cmicrohttpd_no
    }
    parameters.pointee?[key] = value
    return cmicrohttpd_yes
}

/// UTF-8 without a zero byte; no pointer is an empty text.
private func text(_ start: UnsafePointer<CChar>?, _ size: Int) -> String? {
    let bytes = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : size)
    return bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
}

/// A pointer on its way out of the loop's isolation.
private struct Reference: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    init(_ pointer: UnsafeMutableRawPointer) { self.pointer = pointer }
}
