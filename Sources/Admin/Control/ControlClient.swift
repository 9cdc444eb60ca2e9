import DNSWire
import Glibc
public import HTTPDNS
import Platform

/// The client of the control API for the commands: one request after the other over the server's Unix socket. Blocks.
public struct ControlClient {
    private let socket: String
    private let timeout: Duration

    /// - Parameter timeout: the longest time of a request, up to an hour; a part of a millisecond is left out.
    public init(socket: String, timeout: Duration) {
        self.socket = socket
        self.timeout = timeout
    }

    /// Sends a GET request.
    public func get(
        _ path: String, _ parameters: [(String, String)] = [], as form: ReportForm
    ) throws(ControlError) -> CommandOutput {
        try perform(Self.target(path, parameters), form, body: nil)
    }

    /// Sends a POST request.
    public func post(
        _ path: String, as form: ReportForm, _ members: (inout JSONWriter) -> Void = { _ in }
    ) throws(ControlError) -> CommandOutput {
        try perform(path, form, body: JSONWriter.object(members))
    }

    /// Sends a GET request whose response has no end, until the server ends it.
    ///
    /// - Parameter take: called with each line as it comes, without its end; returns false to end it.
    public func follow(
        _ path: String, _ parameters: [(String, String)], as form: ReportForm, _ take: @escaping (String) -> Bool
    ) throws(ControlError) {
        let response = try exchange(Self.target(path, parameters), form, body: nil, lines: take)
        guard response.status == 200 else { throw fault(response) }
    }

    private static func target(_ path: String, _ parameters: [(String, String)]) -> String {
        let query = parameters.map { "\($0)=\(TextEncoding.percent($1))" }.joined(separator: "&")
        return query.isEmpty ? path : "\(path)?\(query)"
    }

    private func perform(_ target: String, _ form: ReportForm, body: String?) throws(ControlError) -> CommandOutput {
        let response = try exchange(target, form, body: body)
        // With 422 comes the report of a reload that is refused.
        guard let status = response.status, [200, 422].contains(status) else { throw fault(response) }
        guard response.has(form) else { throw foreign }
        let count = response.number("remarks") ?? 0
        let lines = response.text.split(separator: "\n", maxSplits: count, omittingEmptySubsequences: false)
        let text = lines.dropFirst(count).first ?? ""
        return CommandOutput(
            String(text.last == "\n" ? text.dropLast() : text), remarks: lines.prefix(count).map(String.init),
            exitStatus: Int32(response.number("exit-status") ?? 0), next: response.fields["next"])
    }

    /// The error of a response that is no report.
    private func fault(_ response: ControlResponse) -> ControlError {
        response.has(.text)
            ? ControlError(status: response.status, text: String(response.text.prefix { $0 != "\n" })) : foreign
    }

    /// That of a server that knows no other form than JSON.
    private var foreign: ControlError {
        broken("the server is of another version than this command, or none of ours: restart it")
    }

    /// - Parameter lines: takes the lines of a response without an end; nil: the response has one, within the time limit.
    private func exchange(
        _ target: String, _ form: ReportForm, body: String?, lines: ((String) -> Bool)? = nil
    ) throws(ControlError) -> ControlResponse {
        let deadline = Instant.bootTime + timeout
        let connection = try connect(until: deadline)
        let content = body.map { "Content-Type: application/json\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)" }
        let request =
            "\(body == nil ? "GET" : "POST") \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Accept: \(form.rawValue), \(ReportForm.text.rawValue)\r\n" + (content ?? "\r\n")
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
        var response = ControlResponse()
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe recv(connection.number, &buffer, buffer.count, 0)
            if count > 0 {
                guard response.append(buffer[..<count]) else { throw broken("no response of a control socket") }
                if let lines, response.status == 200, !response.takeLines(lines) { break }
            } else if count < 0, errno == EAGAIN {
                try wait(for: POLLIN, connection, until: lines != nil && response.status == 200 ? nil : deadline)
            } else if count == 0 || errno != EINTR {
                break
            }
        }
        guard let status = response.status else { throw broken("the server ended the connection without a response") }
        // However a response without an end breaks off, that is its end.
        guard lines != nil && status == 200 || response.isWhole else { throw broken("the response is cut off") }
        return response
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
        let count = unsafe poll(&entry, 1, deadline.map { ($0 - .bootTime).pollTimeout } ?? -1)
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
public struct ControlError: Error {
    /// The server's status; nil when it could not be reached.
    public let status: Int?
    /// One line for people.
    public let text: String

    public init(status: Int?, text: String) { (self.status, self.text) = (status, text) }
}

/// A response that the server ends with the connection, as far as it has come.
private struct ControlResponse {
    /// Bytes, more than any report has.
    private static let limit = 64 << 20
    /// Bytes of a header, more than the server's has.
    private static let header = 16 << 10

    /// Nil until the header is whole.
    private(set) var status: Int?
    /// By their names.
    private(set) var fields: [String: String] = [:]
    private var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Whether it is of a form.
    func has(_ form: ReportForm) -> Bool { fields["content-type"]?.hasPrefix(form.rawValue) == true }

    /// A field that is a number, of no more than any response has.
    func number(_ name: String) -> Int? {
        fields[name].flatMap { OutsideNumber(digits: $0.utf8)?.within(0...Self.limit) }
    }

    /// Whether all of the body has come.
    var isWhole: Bool { status != nil && (number("content-length") ?? body.count) == body.count }

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
        for line in lines.dropFirst() {
            guard let end = line.firstRange(of: ": ") else { return false }
            fields[String(line[..<end.lowerBound])] = String(line[end.upperBound...])
        }
        guard (fields["content-length"] == nil) == (number("content-length") == nil) else { return false }
        status = code
        body.removeFirst(end.upperBound)
        return true
    }

    /// Removes the lines that are whole. Returns whether more are wanted.
    mutating func takeLines(_ take: (String) -> Bool) -> Bool {
        guard let end = body.lastIndex(of: UInt8(ascii: "\n")) else { return true }
        let lines = body[..<end].split(separator: UInt8(ascii: "\n"))
        body.removeFirst(end + 1)
        return lines.allSatisfy { take(String(decoding: $0, as: UTF8.self)) }
    }
}
