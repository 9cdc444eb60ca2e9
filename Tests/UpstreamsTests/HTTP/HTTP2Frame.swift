/// A frame of HTTP/2 (RFC 9113 section 4.1), written or read by a test.
struct HTTP2Frame {
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case priority = 2
        case reset = 3
        case settings = 4
        case pushPromise = 5
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        /// A type that does not exist.
        case unknown = 64
    }

    static let endStream: UInt8 = 1
    static let acknowledgement: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8

    var type: Kind
    var flags: UInt8 = 0
    var stream: Int32 = 0
    var payload: [UInt8] = []

    init(_ type: Kind, flags: UInt8 = 0, stream: Int32 = 0, payload: [UInt8] = []) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    /// The header of a response.
    static func reply(
        _ stream: Int32, status: String = "200", fields: [(String, String)] = [], ends: Bool = false
    ) -> HTTP2Frame {
        .fields(stream, [(":status", status)] + fields, ends: ends)
    }

    /// A header or trailer with these fields, each as a literal (RFC 7541 section 6.2.2).
    static func fields(_ stream: Int32, _ fields: [(String, String)], ends: Bool = false) -> HTTP2Frame {
        var payload: [UInt8] = []
        for (name, value) in fields { payload += [0] + text(name) + text(value) }
        return HTTP2Frame(.headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: payload)
    }

    /// A string literal: its length, then the text (RFC 7541 section 5.2).
    static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return length + [UInt8(rest)] + bytes
    }

    var bytes: [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type.rawValue, flags]
            + (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * Int32($0))) } + payload
    }

    /// The frames in `bytes`, without those of unknown types.
    static func parse(_ bytes: ArraySlice<UInt8>) -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        var rest = bytes
        while rest.count >= 9 {
            let header = Array(rest.prefix(9))
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            let stream = header[5...8].reduce(Int32(0)) { $0 << 8 | Int32($1) }
            if let type = Kind(rawValue: header[3]) {
                frames.append(
                    HTTP2Frame(type, flags: header[4], stream: stream, payload: Array(rest.dropFirst(9).prefix(length)))
                )
            }
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }
}
