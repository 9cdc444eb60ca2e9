package import CCurl
import Glibc

/// An option that libcurl would not take, or a handle that it could not make.
package struct CurlError: Error, Hashable, Sendable, CustomStringConvertible {
    /// libcurl's own number.
    package let code: UInt32

    init(_ code: CURLcode) { self.code = code.rawValue }

    /// libcurl's general text for the number; nothing of the request is in it.
    package var description: String { String(cString: curl_easy_strerror(CURLcode(rawValue: code))) }
}

/// Throws unless `code` is success.
package func checked(_ code: CURLcode) throws(CurlError) {
    guard code == CURLE_OK else { throw CurlError(code) }
}

/// Throws unless `code` is success.
func checked(_ code: CURLMcode) throws(CurlError) {
    guard code == CURLM_OK else { throw CurlError(CURLE_FAILED_INIT) }
}

/// What libcurl does once in a process, before anything else; the first access does it.
///
/// Not thread-safe in older releases of its TLS library, and it changes the environment: the first provider does it
/// as it is made, before other threads start.
let curlIsReady: Bool = {
    // libcurl would write the keys of every TLS connection to the file that this names, and open it right now.
    unsetenv("SSLKEYLOGFILE")
    return curl_global_init(ccurl_global_default) == CURLE_OK
}()
