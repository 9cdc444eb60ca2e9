import CCurl
import Glibc
package import HTTPDNS
import Upstreams

/// The client of the control API for the commands: one request after the other over the server's Unix socket. Blocks.
package struct ControlClient {
    private let socket: String
    private let timeout: Duration

    /// - Parameters:
    ///   - socket: path of the server's socket.
    ///   - timeout: the longest time of a request, up to an hour; a part of a millisecond is left out.
    package init(socket: String, timeout: Duration) {
        self.socket = socket
        self.timeout = timeout
    }

    /// A response with its parsed report.
    package struct Reply<Report: JSONRecord> {
        package let report: Report
        /// The text sent by the server.
        package let text: String
        /// 200, or the one of `accepted` received.
        package let status: Int
    }

    /// Sends a GET request.
    package func get<Report: JSONRecord>(
        _ path: String, _ parameters: [(String, String)] = [], as: Report.Type
    ) throws(ControlError) -> Reply<Report> {
        let query = parameters.map { "\($0)=\(TextEncoding.percent($1))" }.joined(separator: "&")
        return try perform(query.isEmpty ? path : "\(path)?\(query)", body: nil, accepted: [200])
    }

    /// Sends a POST request.
    ///
    /// - Parameter accepted: statuses whose body is a report.
    package func post<Report: JSONRecord>(
        _ path: String, accepted: Set<Int> = [200], as: Report.Type,
        _ members: (inout JSONWriter) -> Void = { _ in }
    ) throws(ControlError) -> Reply<Report> {
        try perform(path, body: JSONWriter.object(members), accepted: accepted)
    }

    private func perform<Report: JSONRecord>(
        _ target: String, body: String?, accepted: Set<Int>
    ) throws(ControlError) -> Reply<Report> {
        let (status, bytes) = try exchange(target, body: body)
        guard accepted.contains(status) else {
            let fault = try? FaultReport(json: bytes)
            throw ControlError(
                status: status, text: fault?.error ?? "\(socket): answered \(status), not as a control socket does")
        }
        do throws(JSONError) {
            let report = try Report(json: bytes)
            return Reply(report: report, text: String(decoding: bytes, as: UTF8.self), status: status)
        } catch {
            throw ControlError(status: status, text: "\(socket): not a report: \(error)")
        }
    }

    private func exchange(_ target: String, body: String?) throws(ControlError) -> (status: Int, body: [UInt8]) {
        let received = ReceivedBody()
        do throws(CurlError) {
            let easy = try CurlEasy()
            let headers = try CurlList(["Content-Type: application/json", "Expect:"])
            try easy.set(CURLOPT_UNIX_SOCKET_PATH, text: socket)
            try easy.set(CURLOPT_URL, text: "http://localhost\(target)")
            try easy.set(CURLOPT_PROXY, text: "")
            try easy.set(CURLOPT_NOPROXY, text: "*")
            try easy.set(CURLOPT_PROTOCOLS_STR, text: "http")
            try easy.set(CURLOPT_NOSIGNAL, 1)
            try easy.set(CURLOPT_TIMEOUT_MS, Int(timeout / .milliseconds(1)))
            try easy.set(CURLOPT_HTTPHEADER, list: headers.pointer)
            try easy.set(CURLOPT_WRITEDATA, object: received)
            try checked(ccurl_set_on_body(easy.pointer, receiveControlBody))
            if let body { try checked(ccurl_set_post(easy.pointer, body, curl_off_t(body.utf8.count))) }
            let result = curl_easy_perform(easy.pointer)
            // libcurl only stores a pointer to it.
            withExtendedLifetime(headers) {}
            try checked(result)
            return (easy.long(CURLINFO_RESPONSE_CODE) ?? 0, received.bytes)
        } catch {
            throw ControlError(status: nil, text: failure(error))
        }
    }

    /// The text of libcurl's error for the user of the command.
    private func failure(_ error: CurlError) -> String {
        if error.code == CURLE_OPERATION_TIMEDOUT.rawValue {
            let milliseconds = Int(timeout / .milliseconds(1))
            let text = milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
            return "\(socket): no answer within \(text): is the server stopped?"
        }
        guard error.code == CURLE_COULDNT_CONNECT.rawValue else { return "\(socket): \(error)" }
        if access(socket, F_OK) != 0, errno == ENOENT {
            return "\(socket): there is no control socket: httpdnsd does not run, or serves without one"
        }
        if access(socket, R_OK | W_OK) != 0, errno == EACCES {
            return "\(socket): no leave to use the control socket: it is for root, the server and control.group"
        }
        return "\(socket): nobody listens there: httpdnsd does not run"
    }
}

/// The error of a failed request.
package struct ControlError: Error {
    /// The server's status; nil when it could not be reached.
    package let status: Int?
    /// One line for people.
    package let text: String
}

/// The buffer for a body.
private final class ReceivedBody {
    /// Bytes, more than any report has.
    static let limit = 64 << 20

    var bytes: [UInt8] = []
}

/// Called with a part of a body. Any return value other than the whole size ends the transfer.
private func receiveControlBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let data, let bytes else { return 0 }
    let received = Unmanaged<ReceivedBody>.fromOpaque(data).takeUnretainedValue()
    guard received.bytes.count + size * count <= ReceivedBody.limit else { return 0 }
    received.bytes += UnsafeRawBufferPointer(start: bytes, count: size * count)
    return size * count
}
