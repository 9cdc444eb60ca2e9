import TestSupport

/// A frame of HTTP/2 (RFC 9113 section 4.1), written or read by a test.
struct HTTP2Frame {
    var type: Frames.Kind
    var flags: UInt8 = 0
    var stream: Int32 = 0
    var payload: [UInt8] = []

    init(_ type: Frames.Kind, flags: UInt8 = 0, stream: Int32 = 0, payload: [UInt8] = []) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    /// The header of a response.
    static func reply(
        _ stream: Int32, status: String = "200", fields: [Frames.Field] = [], ends: Bool = false
    ) -> HTTP2Frame {
        .fields(stream, [(":status", status)] + fields, ends: ends)
    }

    /// A header or trailer with these fields, each as a literal.
    static func fields(_ stream: Int32, _ fields: [Frames.Field], ends: Bool = false) -> HTTP2Frame {
        HTTP2Frame(
            .headers, flags: Frames.endHeaders | (ends ? Frames.endStream : 0), stream: stream,
            payload: Frames.block(fields))
    }

    var bytes: [UInt8] { Frames.frame(type, flags: flags, on: UInt32(bitPattern: stream), payload) }

    /// The frames in `bytes`, without those of unknown types.
    static func parse(_ bytes: ArraySlice<UInt8>) -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        var rest = bytes
        while rest.count >= 9 {
            let header = Array(rest.prefix(9))
            let length = Int(header[0]) << 16 | Int(header[1]) << 8 | Int(header[2])
            let stream = header[5...8].reduce(Int32(0)) { $0 << 8 | Int32($1) }
            if let type = Frames.Kind(rawValue: header[3]) {
                frames.append(
                    HTTP2Frame(type, flags: header[4], stream: stream, payload: Array(rest.dropFirst(9).prefix(length)))
                )
            }
            rest = rest.dropFirst(9 + length)
        }
        return frames
    }
}
