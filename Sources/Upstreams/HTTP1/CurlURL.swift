import CCurl

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
