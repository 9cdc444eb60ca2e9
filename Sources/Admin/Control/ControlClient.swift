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
        try perform(Self.target(path, parameters), body: nil, accepted: [200])
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

    /// Sends a GET request whose response has no end, until the server ends it.
    ///
    /// - Parameter take: called with each line as it comes, without its end; returns false to end it.
    package func follow(
        _ path: String, _ parameters: [(String, String)], _ take: @escaping ([UInt8]) -> Bool
    ) throws(ControlError) {
        let (status, bytes) = try exchange(Self.target(path, parameters), body: nil, lines: take)
        guard status == 200 else { throw fault(status, bytes) }
    }

    private static func target(_ path: String, _ parameters: [(String, String)]) -> String {
        let query = parameters.map { "\($0)=\(TextEncoding.percent($1))" }.joined(separator: "&")
        return query.isEmpty ? path : "\(path)?\(query)"
    }

    /// The error of a response that is no report.
    private func fault(_ status: Int, _ bytes: [UInt8]) -> ControlError {
        let fault = try? FaultReport(json: bytes)
        return ControlError(
            status: status, text: fault?.error ?? "\(socket): answered \(status), not as a control socket does")
    }

    private func perform<Report: JSONRecord>(
        _ target: String, body: String?, accepted: Set<Int>
    ) throws(ControlError) -> Reply<Report> {
        let (status, bytes) = try exchange(target, body: body)
        guard accepted.contains(status) else { throw fault(status, bytes) }
        do throws(JSONError) {
            let report = try Report(json: bytes)
            return Reply(report: report, text: String(decoding: bytes, as: UTF8.self), status: status)
        } catch {
            throw ControlError(status: status, text: "\(socket): not a report: \(error)")
        }
    }

    /// - Parameter lines: takes the lines of a response without an end; nil: the response has one, within the time limit.
    private func exchange(
        _ target: String, body: String?, lines: (([UInt8]) -> Bool)? = nil
    ) throws(ControlError) -> (status: Int, body: [UInt8]) {
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
            if lines == nil { try easy.set(CURLOPT_TIMEOUT_MS, Int(timeout / .milliseconds(1))) }
            unsafe try easy.set(CURLOPT_HTTPHEADER, list: headers.pointer)
            try easy.set(CURLOPT_WRITEDATA, object: received)
            unsafe try checked(ccurl_set_on_body(easy.pointer, receiveControlBody))
            if let body { unsafe try checked(ccurl_set_post(easy.pointer, body, curl_off_t(body.utf8.count))) }
            let handle = unsafe easy.pointer
            if let lines {
                received.onLine = { line in
                    var status = 0
                    unsafe ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
                    // That of an error belongs to the body.
                    return status == 200 ? lines(line) : nil
                }
            }
            let result = unsafe curl_easy_perform(handle)
            // libcurl only stores a pointer to it.
            withExtendedLifetime(headers) {}
            let status = easy.long(CURLINFO_RESPONSE_CODE) ?? 0
            // However a response without an end breaks off, that is its end.
            if lines == nil || status != 200 { try checked(result) }
            return (status, received.bytes)
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
        if unsafe access(socket, F_OK) != 0, errno == ENOENT {
            return "\(socket): there is no control socket: httpdnsd does not run, or serves without one"
        }
        if unsafe access(socket, R_OK | W_OK) != 0, errno == EACCES {
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

    package init(status: Int?, text: String) { (self.status, self.text) = (status, text) }
}

/// The buffer for a body.
private final class ReceivedBody {
    /// Bytes, more than any report has.
    static let limit = 64 << 20

    var bytes: [UInt8] = []
    /// Called with each line of a response without an end; returns whether there may be more, nil if it was not taken.
    var onLine: (([UInt8]) -> Bool?)?

    /// Appends a part. Returns whether there may be more.
    func append(_ part: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count + part.count <= Self.limit else { return false }
        unsafe bytes += part
        guard let onLine, let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return true }
        for line in bytes[..<end].split(separator: UInt8(ascii: "\n")) {
            guard let isMoreWanted = onLine(Array(line)) else { return true }
            guard isMoreWanted else { return false }
        }
        bytes.removeFirst(end + 1)
        return true
    }
}

/// Called with a part of a body. Any return value other than the whole size ends the transfer.
private func receiveControlBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let data = unsafe data, let bytes = unsafe bytes else { return 0 }
    let received = unsafe Unmanaged<ReceivedBody>.fromOpaque(data).takeUnretainedValue()
    return unsafe received.append(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}
