import CMicrohttpd
import Platform
import Scheduling

/// One request and its response, from the request line to the end; the library holds a reference.
@Loop
@safe final class ControlExchange {
    /// Bytes of a body beyond the limit that are still read, so that the client receives the error response.
    private nonisolated static let swallowed = 64 << 10

    var request: ControlRequest
    var response: ControlResponse?
    var task: Task<Void, Never>?
    /// The client's ticket at the server, and its socket.
    var client: (ticket: Int, socket: Int32)?
    private var connection: OpaquePointer?
    private var received = 0
    /// Bytes of the library's buffer for a stream.
    private nonisolated static let streamBuffer = 16 << 10

    init(_ request: ControlRequest) { self.request = request }

    /// Appends a part of the body. Returns whether the client may send more.
    func take(_ part: UnsafeRawBufferPointer) -> Bool {
        received += part.count
        guard received <= ControlRequest.bodyLimit else {
            request.body = []
            response = .fault(413, "a body has at most \(ControlRequest.bodyLimit) bytes")
            return received <= Self.swallowed
        }
        unsafe request.body += part
        return true
    }

    func suspend(_ connection: OpaquePointer) {
        unsafe self.connection = unsafe connection
        unsafe MHD_suspend_connection(connection)
    }

    func resume() {
        if let connection = unsafe connection.take() { unsafe MHD_resume_connection(connection) }
    }

    /// Passes the response to the library.
    ///
    /// - Parameter begin: makes the stream of a response that is one.
    func reply(
        _ response: ControlResponse, to connection: OpaquePointer,
        stream begin: (ControlParts) -> ControlStream
    ) -> MHD_Result {
        let made: OpaquePointer?
        if let parts = response.parts {
            if parts.isPatient { unsafe cmicrohttpd_stay(connection) }
            unsafe made = unsafe MHD_create_response_from_callback(
                .max, Self.streamBuffer, readControlStream, Unmanaged.passRetained(begin(parts)).toOpaque(),
                controlStreamEnded)
        } else {
            var body = response.body
            unsafe made = body.withUTF8 { bytes in
                unsafe MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), cmicrohttpd_copied)
            }
        }
        guard let made = unsafe made else { return cmicrohttpd_no }
        defer { unsafe MHD_destroy_response(made) }
        unsafe MHD_add_response_header(made, "Content-Type", response.contentType)
        for field in response.fields { unsafe MHD_add_response_header(made, field.name, field.value) }
        return unsafe MHD_queue_response(connection, UInt32(response.status), made)
    }
}

/// Called for the next part of a stream.
private func readControlStream(
    _ data: UnsafeMutableRawPointer?, _ position: UInt64, _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
    guard let data = unsafe data else { return -1 }
    nonisolated(unsafe) let stream = unsafe data
    nonisolated(unsafe) let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: bytes == nil ? 0 : size)
    return Loop.assumeIsolated {
        unsafe Unmanaged<ControlStream>.fromOpaque(stream).takeUnretainedValue().read(into: buffer)
    }
}

/// Called once the connection of a stream has closed.
private func controlStreamEnded(_ data: UnsafeMutableRawPointer?) {
    guard let data = unsafe data else { return }
    nonisolated(unsafe) let stream = unsafe data
    Loop.assumeIsolated { unsafe Unmanaged<ControlStream>.fromOpaque(stream).takeRetainedValue().close() }
}
