/// A complete HTTP reply: the status, the header fields that services use, and the body.
package struct HTTPResponse: Hashable, Sendable {
    package var status: Int
    package var contentType: String?
    /// The `Age` header: seconds that the response has been in an HTTP cache.
    package var age: UInt32?
    /// The `Retry-After` header, in seconds.
    package var retryAfter: UInt32?
    /// The `Date` header, in seconds since 1970.
    package var date: Int64?
    /// The `ETag` header, of a document only.
    package var entityTag: String?
    /// The compression of the body, from the `Content-Encoding` header; nil: none.
    package var compression: HTTPCompression?
    /// At most 64 KiB, of a document 4 MiB; the transport enforces it.
    package var body: [UInt8]
    /// The time from the request to the first byte of its response; nil: not measured.
    package var timeToFirstByte: Duration?

    package init(
        status: Int, contentType: String? = nil, age: UInt32? = nil, retryAfter: UInt32? = nil, date: Int64? = nil,
        entityTag: String? = nil, compression: HTTPCompression? = nil, body: [UInt8] = [],
        timeToFirstByte: Duration? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.age = age
        self.retryAfter = retryAfter
        self.date = date
        self.entityTag = entityTag
        self.compression = compression
        self.body = body
        self.timeToFirstByte = timeToFirstByte
    }

    /// Whether the status is 2xx.
    package var isSuccess: Bool { (200..<300).contains(status) }
}
