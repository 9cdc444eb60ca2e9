/// HTTP/2 frames (RFC 9113 section 4), written byte by byte: also those that no client sends.
package enum Frames {
    package enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goaway, window, continuation
        /// A type that does not exist.
        case unknown = 64
    }

    package static let endStream: UInt8 = 1
    package static let acknowledgement: UInt8 = 1
    package static let endHeaders: UInt8 = 4
    package static let padded: UInt8 = 8

    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// A frame.
    ///
    /// - Parameter length: what its header says, if not the payload's.
    package static func frame(
        _ kind: UInt8, flags: UInt8 = 0, on stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil
    ) -> [UInt8] {
        let length = length ?? payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), kind, flags]
            + number(stream) + payload
    }

    package static func frame(
        _ kind: Kind, flags: UInt8 = 0, on stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil
    ) -> [UInt8] { frame(kind.rawValue, flags: flags, on: stream, payload, length: length) }

    /// A frame that was received.
    package struct Frame: Equatable, Sendable {
        /// Nil for a type that none of the tests knows.
        package let kind: Kind?
        package let flags: UInt8
        package let stream: UInt32
        package let payload: [UInt8]

        package init(_ kind: Kind?, flags: UInt8, stream: UInt32, payload: [UInt8]) {
            (self.kind, self.flags, self.stream, self.payload) = (kind, flags, stream, payload)
        }

        package var endsStream: Bool { flags & Frames.endStream != 0 }

        /// The error code of GOAWAY or RST_STREAM.
        package var code: UInt32? {
            switch kind {
            case .goaway?: payload.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
            case .reset?: payload.reduce(0) { $0 << 8 | UInt32($1) }
            default: nil
            }
        }
    }

    /// Takes the frames that are whole off the beginning of bytes.
    package static func take(from bytes: inout [UInt8]) -> [Frame] {
        var (frames, rest): ([Frame], ArraySlice<UInt8>) = ([], bytes[...])
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 9 + length else { break }
            let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) }
            let payload = Array(rest.dropFirst(9).prefix(length))
            frames.append(Frame(Kind(rawValue: head[3]), flags: head[4], stream: stream, payload: payload))
            rest = rest.dropFirst(9 + length)
        }
        bytes = Array(rest)
        return frames
    }

    package static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }

    package static func setting(_ id: UInt16, _ value: UInt32) -> [UInt8] {
        [UInt8(id >> 8), UInt8(id & 255)] + number(value)
    }

    package static func settings(_ pairs: (UInt16, UInt32)...) -> [UInt8] {
        frame(.settings, pairs.flatMap { setting($0.0, $0.1) })
    }

    package static func window(_ increment: UInt32, on stream: UInt32 = 0) -> [UInt8] {
        frame(.window, on: stream, number(increment))
    }

    // MARK: Headers

    package typealias Field = (name: String, value: String)

    /// The pseudo-header fields of a request.
    package static func request(_ method: String = "GET", _ path: String = "/dns-query?dns=AAAA") -> [Field] {
        [(":method", method), (":scheme", "https"), (":path", path), (":authority", "dns.example")]
    }

    /// Fields as literals that are not indexed (RFC 7541 section 6.2.2), without Huffman's code.
    package static func block(_ fields: [Field]) -> [UInt8] {
        fields.flatMap { [0] + text($0.name) + text($0.value) }
    }

    /// A string literal: its length, then the text (RFC 7541 section 5.2).
    package static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var (rest, length): (Int, [UInt8]) = (bytes.count - 127, [127])
        while rest >= 128 {
            length.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }

    package static func headers(
        _ stream: UInt32, _ fields: [Field] = request(), flags: UInt8 = endHeaders | endStream
    ) -> [UInt8] { frame(.headers, flags: flags, on: stream, block(fields)) }

    /// A POST with a body that may be sent in several frames.
    package static func post(_ stream: UInt32, _ parts: [UInt8]..., fields: [Field] = []) -> [UInt8] {
        let header = headers(
            stream, request("POST", "/dns-query") + [("content-type", "application/dns-message")] + fields,
            flags: endHeaders)
        return header
            + parts.enumerated().flatMap {
                frame(.data, flags: $0.offset == parts.count - 1 ? endStream : 0, on: stream, $0.element)
            }
    }
}

extension [UInt8] {
    /// In base64url without padding (RFC 4648 section 5), as RFC 8484 has messages in targets.
    package var base64URL: String {
        let digits = [Character]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = flatMap { byte in (0..<8).map { Int(byte >> UInt8(7 - $0) & 1) } }
        return String(
            stride(from: 0, to: bits.count, by: 6).map { start in
                let part = bits[start..<Swift.min(start + 6, bits.count)]
                return digits[part.reduce(0) { $0 << 1 | $1 } << (6 - part.count)]
            })
    }
}
