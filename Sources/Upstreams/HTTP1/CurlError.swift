package import CCurl
import Glibc

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
