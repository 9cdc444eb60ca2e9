import CNghttp2

/// What an HTTP/2 connection brings, for the end that has the engine. Each is called inside a call of its `HTTP2Engine`, with the
/// stream that was attached; nil: none is, any more.
public protocol HTTP2Peer: AnyObject {
    /// A frame begins.
    ///
    /// - Returns: whether the rules allow it; if not, the connection ends with an error of the other end's.
    func allows(_ frame: HTTP2Frame) -> Bool

    /// The header of a message begins, or what follows its body.
    func beginFields(_ frame: HTTP2Frame, of stream: AnyObject?)

    /// - Returns: whether the message is still acceptable; if not, the engine resets the stream, and ignores the rest of its
    ///   header: a field of one byte may be expanded to thousands.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: AnyObject) -> Bool

    func receiveBody(_ part: UnsafeRawBufferPointer, of stream: AnyObject?, id: Int32)

    /// A frame of a stream is whole and obeys the rules; the bytes of a body were passed before.
    func receive(_ frame: HTTP2Frame, of stream: AnyObject)

    /// Copies the next part of the body that is sent.
    ///
    /// - Returns: the number of bytes, and whether these are the last.
    func nextBody(into buffer: UnsafeMutableRawBufferPointer, of stream: AnyObject) -> (count: Int, isLast: Bool)

    /// A stream has ended.
    func close(_ stream: AnyObject, _ code: HTTP2Code)
}

/// The header of a frame (RFC 9113 section 4.1).
public struct HTTP2Frame {
    public enum Kind: Sendable {
        case data
        /// - Parameter isRequest: whether it opens a request of the other end's.
        case headers(isRequest: Bool)
        case priority
        case other
    }

    public let kind: Kind
    public let stream: Int32
    /// Bytes after the frame's header.
    public let length: Int
    /// Whether the other end sends no more on the stream.
    public let endsStream: Bool
}

/// Why a stream or a connection ends (RFC 9113 section 7).
public struct HTTP2Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let none = HTTP2Code(rawValue: 0)
    public static let protocolError = HTTP2Code(rawValue: 1)
    /// The server has not processed it.
    public static let refusedStream = HTTP2Code(rawValue: 7)
    public static let cancel = HTTP2Code(rawValue: 8)
    public static let enhanceYourCalm = HTTP2Code(rawValue: 11)
    /// It must be sent over HTTP/1.1.
    public static let downgraded = HTTP2Code(rawValue: 13)
}

/// The header of an HTTP/2 request or response in nghttp2's form: lower-case names, and values, in one contiguous buffer.
public struct HTTP2Fields {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int, flags: UInt8)] = []

    public init() {}

    public var count: Int { lengths.count }

    /// - Parameters:
    ///   - name: in lower case.
    ///   - isIndexed: whether the table of header compression takes up the field. With a value that differs from one message
    ///     to the next it would only fill the table: 10 KiB of memory for as long as the connection lasts.
    public mutating func add(_ name: String, _ value: String, isIndexed: Bool = true) {
        var (name, value) = (name, value)
        let before = bytes.count
        name.withUTF8 { unsafe bytes.append(contentsOf: $0) }
        let middle = bytes.count
        value.withUTF8 { unsafe bytes.append(contentsOf: $0) }
        let flags = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
        lengths.append((middle - before, bytes.count - middle, UInt8(flags.rawValue)))
    }

    /// Removes all but the first `count` fields, and retains the memory.
    public mutating func removeAll(after count: Int) {
        for length in lengths[count...] { bytes.removeLast(length.name + length.value) }
        lengths.removeLast(lengths.count - count)
    }

    /// Lends the fields as nghttp2's C structures.
    mutating func withPairs<Result>(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        unsafe bytes.withUnsafeMutableBufferPointer { [lengths] bytes in
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { pairs in
                var next = bytes.baseAddress
                for (index, length) in lengths.enumerated() {
                    let value = unsafe next.map { unsafe $0 + length.name }
                    unsafe pairs.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: next, value: value, namelen: length.name, valuelen: length.value,
                            flags: length.flags))
                    unsafe next = unsafe value.map { unsafe $0 + length.value }
                }
                return unsafe body(UnsafeBufferPointer(pairs))
            }
        }
    }
}
