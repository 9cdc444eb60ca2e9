import CCurl
import COpenSSL
import DNSWire

// Why there is no complete HTTP reply, by what libcurl and OpenSSL report.

extension UpstreamFailure {
    /// A header or body above its limit.
    static let tooLarge = UpstreamFailure.unusable("the reply is larger than the limit")

    /// The failure for libcurl's result.
    init(_ code: CURLcode, verification: Int? = nil) {
        let text = CurlError(code).description
        self =
            switch code {
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_PEER_FAILED_VERIFICATION: .certificate(Self.certificateText(verification))
            case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .certificate("the certificate's key is not one of those in pin")
            case CURLE_ABORTED_BY_CALLBACK: .cancelled
            // libcurl reports a line of more than 100 KiB as out of memory.
            case CURLE_WRITE_ERROR, CURLE_FILESIZE_EXCEEDED, CURLE_OUT_OF_MEMORY: .tooLarge
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING:
                .unusable("the reply is not HTTP")
            case CURLE_URL_MALFORMAT, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR:
                .unusable(text)
            default: .network(text)
            }
    }

    /// The failure when libcurl does not accept a request.
    init(_ error: CurlError) {
        let code = CURLcode(rawValue: error.code)
        self = code == CURLE_URL_MALFORMAT ? UpstreamFailure(code) : .network("libcurl: \(error)")
    }

    /// Whether the connection broke: on a new one the same request may succeed.
    static func isBrokenConnection(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: true
        default: false
        }
    }

    /// OpenSSL's verification result (`X509_V_ERR_…`) as text: OpenSSL's own for rare ones.
    ///
    /// libcurl checks the name by itself, before it reads the result: then that is 0 or still 1, which is no reason.
    static func certificateText(_ verification: Int?) -> String {
        switch verification {
        case 0, 1, 62, 64, nil: "the certificate is for another name"
        case 9: "the certificate is not valid yet"
        case 10: "the certificate has expired"
        case 18, 19: "the certificate is self-signed"
        case 2, 20, 21: "the certificate's issuer is not known"
        case .some(let number):
            unsafe "the certificate is refused (\(String(cString: X509_verify_cert_error_string(number))))"
        }
    }
}
