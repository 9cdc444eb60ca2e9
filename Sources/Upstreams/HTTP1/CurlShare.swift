import CCurl

/// The owner of one libcurl share handle: TLS sessions shared by the easy handles of one address.
///
/// Without locks: all of them are used on one thread.
struct CurlShare: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    init() throws(CurlError) {
        guard curlIsReady, let pointer = curl_share_init() else { throw CurlError(CURLE_FAILED_INIT) }
        guard ccurl_share_add(pointer, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK else {
            curl_share_cleanup(pointer)
            throw CurlError(CURLE_FAILED_INIT)
        }
        self.pointer = pointer
    }

    deinit { curl_share_cleanup(pointer) }
}
