package import CCurl

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
