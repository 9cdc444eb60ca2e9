/// A content coding that compresses (IANA's registry of HTTP content codings, RFC 9110 section 8.4.1).
package enum HTTPCompression: String, Sendable {
    case br
    case compress
    case deflate
    case gzip
    case xCompress = "x-compress"
    case xGzip = "x-gzip"
    case zstd
}
