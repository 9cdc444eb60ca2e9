import CMicrohttpd
package import Platform
package import Scheduling

/// The control API on a Unix socket, through libmicrohttpd.
///
/// The library has no thread of its own: its epoll descriptor is one more descriptor of the event loop. A request is
/// suspended while its work is done, so that the loop never waits for it.
@Loop
package final class ControlServer {
    /// Clients at once; further ones wait to be accepted.
    private nonisolated static let connections: UInt32 = 16
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

    /// Begins to serve on a listening socket, until `stop()`, which must come before this goes.
    package init(on listener: consuming Descriptor, target: any ControlTarget, loop: EventLoop) throws(SystemError) {
        api = ControlAPI(target: target)
        self.loop = loop
        let number = listener.number
        let data = Unmanaged.passUnretained(self).toOpaque()
        let started = cmicrohttpd_start(
            number, controlRequestArrived, controlRequestEnded, data, Self.connections, Self.connectionMemory,
            Self.idle)
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

    /// The whole request is here: does its work aside, and goes on with it then.
    fileprivate func begin(_ exchange: ControlExchange) {
        exchanges[ObjectIdentifier(exchange)] = exchange
        exchange.task = Loop.spawn { [self] in
            let response = await api.respond(to: exchange.request)
            guard exchanges.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return }
            exchange.response = response
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
        exchange.suspend(client)
        Unmanaged<ControlServer>.fromOpaque(owner).takeUnretainedValue().begin(exchange)
        return cmicrohttpd_yes
    }
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
