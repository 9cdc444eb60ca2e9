import CCurl
import COpenSSL

/// Why no complete HTTP reply came. Texts hold nothing of the request.
package enum HTTPFailure: Error, Hashable, Sendable {
    /// No reply came in time, nor to any other request that was sent to the address meanwhile.
    case timeout
    /// No reply came in time, but others did: the service is slow with this one.
    case slow
    /// Too much is under way already: the request was never sent.
    case overloaded(String)
    /// No connection, or one that broke.
    case network(String)
    /// No certificate that is valid for one of the names, or not one of the pinned keys; nothing was sent.
    case certificate(String)
    /// The connection is ready, and the asker would not have the request sent.
    case withheld
    /// The reply is not acceptable: over the size limit, or not HTTP.
    case unusable(String)

    /// A header or body over its limit.
    static let tooLarge = HTTPFailure.unusable("the reply is larger than the limit")

    /// What libcurl's result means.
    init(_ code: CURLcode, verification: Int? = nil) {
        let text = CurlError(code).description
        self =
            switch code {
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_PEER_FAILED_VERIFICATION: .certificate(Self.certificateText(verification))
            case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .certificate("the certificate's key is not one of those in pin")
            case CURLE_ABORTED_BY_CALLBACK: .withheld
            // libcurl has no memory for a line of more than 100 KiB.
            case CURLE_WRITE_ERROR, CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY: .tooLarge
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
                .unusable("the reply is not HTTP")
            case CURLE_URL_MALFORMAT, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR:
                .unusable(text)
            default: .network(text)
            }
    }

    /// What it means that libcurl would not take a request.
    init(_ error: CurlError) {
        let code = CURLcode(rawValue: error.code)
        self = code == CURLE_URL_MALFORMAT ? HTTPFailure(code) : .network("libcurl: \(error)")
    }

    /// Whether a connection that was fine before may just have ended: on a new one the same request may succeed.
    static func isBrokenConnection(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: true
        default: false
        }
    }

    /// OpenSSL's verification result (`X509_V_ERR_…`) in words: OpenSSL's own for what is rare.
    ///
    /// libcurl looks at the name by itself, before it asks for the result: then that is 0 or still 1, which is no reason.
    static func certificateText(_ verification: Int?) -> String {
        switch verification {
        case 0, 1, 62, 64, nil: "the certificate is for another name"
        case 9: "the certificate is not valid yet"
        case 10: "the certificate has expired"
        case 18, 19: "the certificate is self-signed"
        case 2, 20, 21: "the certificate's issuer is not known"
        case .some(let number): "the certificate is refused (\(String(cString: X509_verify_cert_error_string(number))))"
        }
    }
}
