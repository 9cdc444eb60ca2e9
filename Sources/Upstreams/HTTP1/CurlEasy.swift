package import CCurl
import COpenSSL
import DNSWire
import Glibc

/// The owner of one libcurl easy handle: options, and the state of one transfer at a time.
///
/// Must be removed from its multi handle before it is released.
@safe package struct CurlEasy: ~Copyable {
    /// For libcurl; valid as long as this owner lives.
    package let pointer: UnsafeMutableRawPointer

    package init() throws(CurlError) {
        guard curlIsReady, let pointer = unsafe curl_easy_init() else { throw CurlError(CURLE_FAILED_INIT) }
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe curl_easy_cleanup(pointer) }

    package func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        unsafe try checked(ccurl_set_long(pointer, option, value))
    }

    /// Sets a text option, which is copied; nil unsets libcurl's default.
    package func set(_ option: CURLoption, text: String?) throws(CurlError) {
        guard let text else { return unsafe try checked(ccurl_set_text(pointer, option, nil)) }
        unsafe try checked(ccurl_set_text(pointer, option, text))
    }

    /// Sets a list option, which must outlive the transfer; nil means none.
    package func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) throws(CurlError) {
        unsafe try checked(ccurl_set_list(pointer, option, list))
    }

    /// Sets the argument of a callback; `object` must outlive the handle.
    package func set(_ option: CURLoption, object: some AnyObject) throws(CurlError) {
        unsafe try checked(ccurl_set_pointer(pointer, option, Unmanaged.passUnretained(object).toOpaque()))
    }

    /// Requires a certificate valid for the host under the trust anchors of a PEM file, as in a browser, and TLS 1.2 or
    /// later.
    func setTrust(in authorities: String) throws(CurlError) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // A directory would disable the cache of trust anchors: each handshake would read all of them again.
        try set(CURLOPT_CAPATH, text: nil)
        try set(CURLOPT_CAINFO, text: authorities)
        try set(CURLOPT_CA_CACHE_TIMEOUT, HTTPLimits.authorityCache)
    }

    /// Makes `sockets`, which must outlive the handle, open and close its sockets.
    func setSockets(_ sockets: HTTPSockets) throws(CurlError) {
        try set(CURLOPT_OPENSOCKETDATA, object: sockets)
        unsafe try checked(ccurl_set_open_socket(pointer, curlOpenSocket))
        try set(CURLOPT_CLOSESOCKETDATA, object: sockets)
        unsafe try checked(ccurl_set_close_socket(pointer, curlCloseSocket))
    }

    /// A number about the last transfer; nil if unknown.
    package func long(_ info: CURLINFO) -> Int? {
        var value = 0
        return unsafe ccurl_get_long(pointer, info, &value) == CURLE_OK ? value : nil
    }

    /// A 64-bit number about the last transfer; nil if unknown.
    func offset(_ info: CURLINFO) -> Int64? {
        var value: curl_off_t = 0
        return unsafe ccurl_get_offset(pointer, info, &value) == CURLE_OK ? Int64(value) : nil
    }
}

/// An option that libcurl rejected, or a handle that it could not create.
package struct CurlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// libcurl's error code.
    package let code: UInt32

    init(_ code: CURLcode) { self.code = code.rawValue }

    /// libcurl's general text for the code; it contains nothing of the request.
    package var description: String { unsafe String(cString: curl_easy_strerror(CURLcode(rawValue: code))) }
}

/// Throws unless `code` is success.
package func checked(_ code: CURLcode) throws(CurlError) {
    guard code == CURLE_OK else { throw CurlError(code) }
}

/// Throws unless `code` is success.
func checked(_ code: CURLMcode) throws(CurlError) {
    guard code == CURLM_OK else { throw CurlError(CURLE_FAILED_INIT) }
}

/// libcurl's global initialization, done once in a process by the first access; false if it failed.
///
/// Not thread-safe in older releases of its TLS library, and it changes the environment: the first provider does it
/// when it is created, before other threads start.
let curlIsReady: Bool = {
    // libcurl would write the keys of every TLS connection to the file named there, and open it at once.
    unsafe unsetenv("SSLKEYLOGFILE")
    return curl_global_init(ccurl_global_default) == CURLE_OK
}()

/// The owner of a libcurl list of texts.
@safe package struct CurlList: ~Copyable {
    package let pointer: UnsafeMutablePointer<curl_slist>?

    /// Copies `texts`; an empty collection makes no list.
    package init(_ texts: some Collection<String>) throws(CurlError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts {
            guard let longer = unsafe curl_slist_append(list, text) else {
                unsafe curl_slist_free_all(list)
                throw CurlError(CURLE_OUT_OF_MEMORY)
            }
            unsafe list = unsafe longer
        }
        unsafe pointer = unsafe list
    }

    deinit { unsafe curl_slist_free_all(pointer) }
}

/// The owner of a parsed URL: a URL given as text is parsed and reassembled by libcurl for each transfer.
@safe struct CurlURL: ~Copyable {
    /// For libcurl; valid as long as this owner lives.
    let pointer: OpaquePointer

    /// - Throws: for an invalid URL, and for one with a user.
    init(_ text: String) throws(CurlError) {
        guard curlIsReady, let pointer = unsafe curl_url() else { throw CurlError(CURLE_OUT_OF_MEMORY) }
        let flags = UInt32(CURLU_PATH_AS_IS | CURLU_DISALLOW_USER)
        guard unsafe curl_url_set(pointer, CURLUPART_URL, text, flags) == CURLUE_OK else {
            unsafe curl_url_cleanup(pointer)
            throw CurlError(CURLE_URL_MALFORMAT)
        }
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe curl_url_cleanup(pointer) }
}

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
