package import CCurl

/// The owner of one libcurl easy handle: settings, and the state of one transfer at a time.
///
/// Must not be part of a multi handle any more when it goes.
package struct CurlEasy: ~Copyable {
    /// For libcurl; valid as long as this owner lives.
    package let pointer: UnsafeMutableRawPointer

    package init() throws(CurlError) {
        guard curlIsReady, let pointer = curl_easy_init() else { throw CurlError(CURLE_FAILED_INIT) }
        self.pointer = pointer
    }

    deinit { curl_easy_cleanup(pointer) }

    package func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        try checked(ccurl_set_long(pointer, option, value))
    }

    /// Sets a text, which is copied; nil unsets libcurl's default.
    package func set(_ option: CURLoption, text: String?) throws(CurlError) {
        guard let text else { return try checked(ccurl_set_text(pointer, option, nil)) }
        try checked(ccurl_set_text(pointer, option, text))
    }

    /// Sets a list, which must outlive the transfer; nil means none.
    package func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) throws(CurlError) {
        try checked(ccurl_set_list(pointer, option, list))
    }

    /// Sets what a callback is handed; `object` must outlive the handle.
    package func set(_ option: CURLoption, object: some AnyObject) throws(CurlError) {
        try checked(ccurl_set_pointer(pointer, option, Unmanaged.passUnretained(object).toOpaque()))
    }

    /// A number about the last transfer; nil if there is none.
    package func long(_ info: CURLINFO) -> Int? {
        var value = 0
        return ccurl_get_long(pointer, info, &value) == CURLE_OK ? value : nil
    }

    /// A 64-bit number about the last transfer; nil if there is none.
    func offset(_ info: CURLINFO) -> Int64? {
        var value: curl_off_t = 0
        return ccurl_get_offset(pointer, info, &value) == CURLE_OK ? Int64(value) : nil
    }
}

/// The owner of one of libcurl's lists of texts.
package struct CurlList: ~Copyable {
    package let pointer: UnsafeMutablePointer<curl_slist>?

    /// Copies `texts`; an empty collection makes no list.
    package init(_ texts: some Collection<String>) throws(CurlError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts {
            guard let longer = curl_slist_append(list, text) else {
                curl_slist_free_all(list)
                throw CurlError(CURLE_OUT_OF_MEMORY)
            }
            list = longer
        }
        pointer = list
    }

    deinit { curl_slist_free_all(pointer) }
}

/// The owner of one libcurl share handle: TLS sessions that the easy handles of one address have in common.
///
/// Without locks: all of them are used by one thread.
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
