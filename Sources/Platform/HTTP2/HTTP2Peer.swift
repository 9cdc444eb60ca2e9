/// What an HTTP/2 connection brings, for the end that has the engine. Each is called inside a call of its `HTTP2Engine`, with the
/// stream that was attached; nil: none is, any more.
package protocol HTTP2Peer: AnyObject {
    /// A frame begins.
    ///
    /// - Returns: whether the rules allow it; if not, the connection ends with an error of the other end's.
    func allows(_ frame: HTTP2Frame) -> Bool

    /// The header of a message begins, or what follows its body.
    func beginFields(_ frame: HTTP2Frame, of stream: AnyObject?)

    /// - Returns: whether the message is still acceptable; if not, the engine resets the stream, and ignores the rest of its
    ///   header: a field of one byte may be expanded to thousands.
    func receiveField(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of stream: AnyObject) -> Bool

    /// A part of a body has come.
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
package struct HTTP2Frame {
    package enum Kind: Sendable {
        case data
        /// - Parameter isRequest: whether it opens a request of the other end's.
        case headers(isRequest: Bool)
        case priority
        case other
    }

    package let kind: Kind
    package let stream: Int32
    /// Bytes after the frame's header.
    package let length: Int
    /// Whether the other end sends no more on the stream.
    package let endsStream: Bool
}

/// Why a stream or a connection ends (RFC 9113 section 7).
package struct HTTP2Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let none = HTTP2Code(rawValue: 0)
    package static let protocolError = HTTP2Code(rawValue: 1)
    /// The server has not processed it.
    package static let refusedStream = HTTP2Code(rawValue: 7)
    package static let cancel = HTTP2Code(rawValue: 8)
    package static let enhanceYourCalm = HTTP2Code(rawValue: 11)
    /// It must be sent over HTTP/1.1.
    package static let downgraded = HTTP2Code(rawValue: 13)
}
