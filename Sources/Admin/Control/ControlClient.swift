import DNSWire
import Glibc
package import HTTPDNS
import Platform
import Scheduling

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
    }

    /// Sends a GET request.
    package func get<Report: JSONRecord>(
        _ path: String, _ parameters: [(String, String)] = [], as: Report.Type
    ) throws(ControlError) -> Reply<Report> {
        try perform(Self.target(path, parameters), body: nil)
    }

    /// Sends a POST request.
    package func post<Report: JSONRecord>(
        _ path: String, as: Report.Type, _ members: (inout JSONWriter) -> Void = { _ in }
    ) throws(ControlError) -> Reply<Report> {
        try perform(path, body: JSONWriter.object(members))
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
        _ target: String, body: String?
    ) throws(ControlError) -> Reply<Report> {
        let (status, bytes) = try exchange(target, body: body)
        // With 422 comes the report of a reload that is refused.
        guard [200, 422].contains(status) else { throw fault(status, bytes) }
        do throws(JSONError) {
            return Reply(report: try Report(json: bytes), text: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw ControlError(status: status, text: "\(socket): not a report: \(error)")
        }
    }

    /// - Parameter lines: takes the lines of a response without an end; nil: the response has one, within the time limit.
    private func exchange(
        _ target: String, body: String?, lines: (([UInt8]) -> Bool)? = nil
    ) throws(ControlError) -> (status: Int, body: [UInt8]) {
        let deadline = Instant.bootTime + timeout
        let connection = try connect(until: deadline)
        let content = body.map { "Content-Type: application/json\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)" }
        let request =
            "\(body == nil ? "GET" : "POST") \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + (content ?? "\r\n")
        var unsent = Array(request.utf8)[...]
        while !unsent.isEmpty {
            let count = unsafe unsent.withUnsafeBytes {
                unsafe send(connection.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                unsent = unsent.dropFirst(count)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT, connection, until: deadline)
            } else if errno != EINTR {
                // It may have answered before it ended the connection.
                break
            }
        }
        var reply = ControlReply()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe recv(connection.number, &buffer, buffer.count, 0)
            if count > 0 {
                guard reply.append(buffer[..<count]) else { throw broken("no response of a control socket") }
                if let lines, reply.status == 200, !reply.takeLines(lines) { break }
            } else if count < 0, errno == EAGAIN {
                try wait(for: POLLIN, connection, until: lines != nil && reply.status == 200 ? nil : deadline)
            } else if count == 0 || errno != EINTR {
                break
            }
        }
        guard let status = reply.status else { throw broken("the server ended the connection without a response") }
        // However a response without an end breaks off, that is its end.
        guard lines != nil && status == 200 || reply.isWhole else { throw broken("the response is cut off") }
        return (status, reply.body)
    }

    private func connect(until deadline: Instant) throws(ControlError) -> Descriptor {
        while true {
            do throws(SystemError) {
                return try Descriptor.connected(toUnixSocket: socket)
            } catch {
                switch error.code {
                case EAGAIN:
                    // More clients wait there than there is room for.
                    guard Instant.bootTime < deadline else { throw late }
                    usleep(10_000)
                case ENOENT:
                    throw broken("there is no control socket: httpdnsd does not run, or serves without one")
                case EACCES:
                    throw broken("no leave to use the control socket: it is for root, the server and control.group")
                case ECONNREFUSED: throw broken("no server listens there: httpdnsd does not run")
                default: throw ControlError(status: nil, text: "\(error)")
                }
            }
        }
    }

    /// Waits until the connection is ready.
    ///
    /// - Parameter deadline: nil: for ever.
    private func wait(
        for events: Int32, _ connection: borrowing Descriptor, until deadline: Instant?
    ) throws(ControlError) {
        var entry = pollfd(fd: connection.number, events: Int16(events), revents: 0)
        let left = deadline.map { max(0, (($0 - .bootTime) / .milliseconds(1)).rounded(.up)) }
        let count = unsafe poll(&entry, 1, left.map { Int32(clamping: Int($0)) } ?? -1)
        guard count != 0 else { throw late }
    }

    private func broken(_ text: String) -> ControlError { ControlError(status: nil, text: "\(socket): \(text)") }

    private var late: ControlError {
        let milliseconds = Int(timeout / .milliseconds(1))
        let text = milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000) s" : "\(milliseconds) ms"
        return broken("no answer within \(text): is the server stopped?")
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

/// A response that the server ends with the connection, as far as it has come.
private struct ControlReply {
    /// Bytes, more than any report has.
    private static let limit = 64 << 20
    /// Bytes of a header, more than the server's has.
    private static let header = 16 << 10

    /// Nil until the header is whole.
    private(set) var status: Int?
    private var length: Int?
    private(set) var body: [UInt8] = []

    /// Whether all of the body has come.
    var isWhole: Bool { status != nil && (length ?? body.count) == body.count }

    /// Takes received bytes. Returns whether they can belong to a response.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> Bool {
        body += bytes
        guard body.count <= Self.limit else { return false }
        guard status == nil else { return true }
        guard let end = body.prefix(Self.header).firstRange(of: Array("\r\n\r\n".utf8)) else {
            return body.count < Self.header
        }
        let lines = String(decoding: body[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 "), let code = Int(first.dropFirst(9).prefix(3)) else {
            return false
        }
        let field = lines.first { $0.hasPrefix("content-length: ") }
        length = field.flatMap { OutsideNumber(digits: $0.dropFirst(16).utf8)?.within(0...Self.limit) }
        guard (field == nil) == (length == nil) else { return false }
        status = code
        body.removeFirst(end.upperBound)
        return true
    }

    /// Removes the lines that are whole. Returns whether more are wanted.
    mutating func takeLines(_ take: ([UInt8]) -> Bool) -> Bool {
        guard let end = body.lastIndex(of: UInt8(ascii: "\n")) else { return true }
        let lines = body[..<end].split(separator: UInt8(ascii: "\n"))
        body.removeFirst(end + 1)
        return lines.allSatisfy { take(Array($0)) }
    }
}
