import CCurl

/// The owner of one libcurl share handle: TLS sessions shared by the easy handles of one address.
///
/// Without locks: all of them are used on one thread.
@safe struct CurlShare: ~Copyable {
    let pointer: UnsafeMutableRawPointer

    init() throws(CurlError) {
        guard curlIsReady, let pointer = unsafe curl_share_init() else { throw CurlError(CURLE_FAILED_INIT) }
        guard unsafe ccurl_share_add(pointer, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK else {
            unsafe curl_share_cleanup(pointer)
            throw CurlError(CURLE_FAILED_INIT)
        }
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe curl_share_cleanup(pointer) }
}
