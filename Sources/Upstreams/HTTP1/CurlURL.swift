import CCurl

/// The owner of a URL that libcurl has taken apart: given as text it is taken apart, and put together again, for each
/// transfer.
struct CurlURL: ~Copyable {
    /// For libcurl; valid as long as this owner lives.
    let pointer: OpaquePointer

    /// - Throws: for what is no URL, and for one with a user in it.
    init(_ text: String) throws(CurlError) {
        guard curlIsReady, let pointer = curl_url() else { throw CurlError(CURLE_OUT_OF_MEMORY) }
        let flags = UInt32(CURLU_PATH_AS_IS | CURLU_DISALLOW_USER)
        guard curl_url_set(pointer, CURLUPART_URL, text, flags) == CURLUE_OK else {
            curl_url_cleanup(pointer)
            throw CurlError(CURLE_URL_MALFORMAT)
        }
        self.pointer = pointer
    }

    deinit { curl_url_cleanup(pointer) }
}
