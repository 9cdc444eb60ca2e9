import DNSWire
import Platform

/// A tunnel through an HTTP proxy (`CONNECT`, RFC 9110 section 9.3.6): builds the request and parses the reply.
struct HTTPTunnel {
    enum State: Equatable {
        case isUnderWay
        case isOpen
        /// - Parameter reason: the proxy's status, or why its reply is invalid.
        case isRefused(reason: String)
    }

    /// The most bytes of the proxy's header.
    private static let limit = 8_192

    /// The request, sent before anything else.
    let request: [UInt8]
    private(set) var state = State.isUnderWay
    private var line: [UInt8] = []
    private var received = 0
    private var part = Part.status

    /// What the next line is of.
    private enum Part {
        case status
        /// The header of an interim response, on which another one follows (RFC 9110 section 15.2).
        case interim
        case header
    }

    /// - Parameter target: the tunnel's destination, as address and port.
    init(to target: String) {
        request = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\nUser-Agent: httpdnsd\r\n\r\n".utf8)
    }

    /// Parses received bytes up to the end of the reply. Returns how many of the bytes belong to the reply.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Int {
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            guard state == .isUnderWay else { return index }
            received += 1
            if received > Self.limit {
                state = .isRefused(reason: "the proxy's reply is larger than the limit")
            } else if byte != UInt8(ascii: "\n") {
                line.append(byte)
            } else {
                lineEnded()
            }
        }
        return bytes.count
    }

    private mutating func lineEnded() {
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line = [] }
        switch part {
        case .status: statusEnded()
        case .interim: if line.isEmpty { part = .status }
        case .header: if line.isEmpty { state = .isOpen }
        }
    }

    private mutating func statusEnded() {
        // "HTTP/1.1 200 Connection established"
        guard line.count >= 12, line.starts(with: "HTTP/1.".utf8), line[8] == UInt8(ascii: " "),
            let status = OutsideNumber(digits: line[9..<12])?.within(100...599)
        else {
            state = .isRefused(reason: "the proxy's reply is not HTTP")
            return
        }
        switch status {
        case 100, 102..<200: part = .interim
        case 200..<300: part = .header
        default: state = .isRefused(reason: "the proxy refuses with status \(status)")
        }
    }
}
