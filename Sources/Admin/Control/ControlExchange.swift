import CMicrohttpd
import Scheduling

/// One request and its response, from the request line to the end; the library holds a reference.
@Loop
final class ControlExchange {
    /// Bytes of a body beyond the limit that are still read, so that the client receives the error response.
    private nonisolated static let swallowed = 64 << 10

    var request: ControlRequest
    var response: ControlResponse?
    var task: Task<Void, Never>?
    /// The client's ticket at the server, and its socket.
    var client: (ticket: Int, socket: Int32)?
    private var connection: OpaquePointer?
    private var received = 0

    init(_ request: ControlRequest) { self.request = request }

    /// Appends a part of the body. Returns whether the client may send more.
    func take(_ part: UnsafeRawBufferPointer) -> Bool {
        received += part.count
        guard received <= ControlRequest.bodyLimit else {
            request.body = []
            response = .fault(413, "a body has at most \(ControlRequest.bodyLimit) bytes")
            return received <= Self.swallowed
        }
        request.body += part
        return true
    }

    func suspend(_ connection: OpaquePointer) {
        self.connection = connection
        MHD_suspend_connection(connection)
    }

    func resume() {
        if let connection = connection.take() { MHD_resume_connection(connection) }
    }

    /// Passes the response to the library.
    func reply(_ response: ControlResponse, to connection: OpaquePointer) -> MHD_Result {
        var body = response.body
        let made = body.withUTF8 { bytes in
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), cmicrohttpd_copied)
        }
        guard let made else { return cmicrohttpd_no }
        defer { MHD_destroy_response(made) }
        MHD_add_response_header(made, "Content-Type", response.contentType)
        for field in response.fields { MHD_add_response_header(made, field.name, field.value) }
        return MHD_queue_response(connection, UInt32(response.status), made)
    }
}
