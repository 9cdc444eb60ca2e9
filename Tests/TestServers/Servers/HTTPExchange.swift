import Foundation

/// A request as a `FakeHTTPDNS` received it.
package struct RecordedRequest: Sendable {
    package var method: String
    /// Path and query string, undecoded.
    package var target: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The number of its connection, from 1.
    package var connection: Int

    /// The value of the first header of this name, in any letter case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    package var path: String { String(target.prefix { $0 != "?" }) }

    /// The decoded parameters of the query string.
    package var parameters: [String: String] {
        let query = target.drop { $0 != "?" }.dropFirst()
        var result: [String: String] = [:]
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1)
            result[String(pair[0])] = pair.count == 2 ? pair[1].removingPercentEncoding ?? "" : ""
        }
        return result
    }
}

/// The response to be sent.
struct HTTPReply {
    var status = 200
    var contentType: String
    var headers: [String] = []
    var body: [UInt8]

    var head: [UInt8] {
        let lines =
            [
                "HTTP/1.1 \(status) \(status == 200 ? "OK" : "Refused")", "Content-Type: \(contentType)",
                "Content-Length: \(body.count)",
            ] + headers
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}

/// Splits a connection's stream into requests.
struct HTTPRequestReader {
    private var buffer: [UInt8] = []

    /// The next request; nil at the end of the stream, or when it is not HTTP.
    mutating func next(_ socket: TestSocket, connection: Int) -> RecordedRequest? {
        var end = Self.headEnd(buffer)
        while end == nil {
            guard buffer.count < 65_536, fill(from: socket) else { return nil }
            end = Self.headEnd(buffer)
        }
        guard let end else { return nil }
        let lines = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n")
        guard let words = lines.first?.split(separator: " "), words.count == 3 else { return nil }
        let headers = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
        buffer.removeFirst(end + 4)
        var request = RecordedRequest(
            method: String(words[0]), target: String(words[1]), headers: headers, body: [], connection: connection)
        let length = request.header("content-length").flatMap { Int($0) } ?? 0
        while buffer.count < length {
            guard fill(from: socket) else { return nil }
        }
        request.body = Array(buffer.prefix(length))
        buffer.removeFirst(length)
        return request
    }

    private mutating func fill(from socket: TestSocket) -> Bool {
        guard let (bytes, _) = socket.receive(nil), !bytes.isEmpty else { return false }
        buffer += bytes
        return true
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (0...bytes.count - 4).first {
            bytes[$0] == 13 && bytes[$0 + 1] == 10 && bytes[$0 + 2] == 13 && bytes[$0 + 3] == 10
        }
    }
}
