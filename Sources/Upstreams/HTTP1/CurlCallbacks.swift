import CCurl
import COpenSSL
import Platform
import Scheduling

// libcurl's callbacks: always called on the loop's thread, inside one of our calls to libcurl. None of them calls
// libcurl.

/// Called when libcurl waits for other events on a descriptor.
func curlSocketChanged(
    _ easy: UnsafeMutableRawPointer?, _ descriptor: Int32, _ events: Int32, _ userData: UnsafeMutableRawPointer?,
    _ socketData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let userData = unsafe userData else { return 0 }
    let sockets = unsafe Unmanaged<HTTPSockets>.fromOpaque(userData).takeUnretainedValue()
    let interest: Interest =
        switch events {
        case CURL_POLL_IN: .readable
        case CURL_POLL_OUT: .writable
        case CURL_POLL_INOUT: [.readable, .writable]
        default: []
        }
    Loop.assumeIsolated { sockets.watch(descriptor, for: interest) }
    return 0
}

/// Called when libcurl wants to be called in `milliseconds`; -1 means not at all.
func curlTimerChanged(
    _ multi: UnsafeMutableRawPointer?, _ milliseconds: Int, _ userData: UnsafeMutableRawPointer?
) -> Int32 {
    guard let userData = unsafe userData else { return 0 }
    let sockets = unsafe Unmanaged<HTTPSockets>.fromOpaque(userData).takeUnretainedValue()
    Loop.assumeIsolated { sockets.setTimer(milliseconds) }
    return 0
}

/// Called when libcurl needs a socket for a new connection; `userData` is the `HTTPSockets`.
func curlOpenSocket(
    _ userData: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let userData = unsafe userData, let address = unsafe address else { return ccurl_no_socket }
    let sockets = unsafe Unmanaged<HTTPSockets>.fromOpaque(userData).takeUnretainedValue()
    let (family, type, transport) = unsafe (
        address.pointee.family, address.pointee.socktype, address.pointee.`protocol`
    )
    return Loop.assumeIsolated { sockets.open(family: family, type: type, transport: transport) } ?? ccurl_no_socket
}

/// Called when libcurl closes a socket.
func curlCloseSocket(_ userData: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    guard let userData = unsafe userData else { return 1 }
    let sockets = unsafe Unmanaged<HTTPSockets>.fromOpaque(userData).takeUnretainedValue()
    Loop.assumeIsolated { sockets.close(descriptor) }
    return 0
}

/// Called when a request is about to be sent on a ready connection. It may be refused; an HTTP/2 connection then stays
/// open.
func curlBeforeRequest(
    _ userData: UnsafeMutableRawPointer?, _ remoteHost: UnsafeMutablePointer<CChar>?,
    _ localHost: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    guard let userData = unsafe userData else { return 1 }
    let handle = unsafe Unmanaged<HTTPHandle>.fromOpaque(userData).takeUnretainedValue()
    let maySend = Loop.assumeIsolated { handle.isAboutToSend(localPort: UInt16(truncatingIfNeeded: localPort)) }
    return maySend ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

/// Called when libcurl has made OpenSSL's context for a new connection: sets the required name.
func curlRequireName(
    _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ userData: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let context = unsafe context, let userData = unsafe userData else { return CURLE_ABORTED_BY_CALLBACK }
    let handle = unsafe Unmanaged<HTTPHandle>.fromOpaque(userData).takeUnretainedValue()
    guard let name = Loop.assumeIsolated({ handle.expectedName }),
        unsafe CertificateName.require(name, in: SSL_CTX_get0_param(OpaquePointer(context))),
        unsafe copenssl_distrust(OpaquePointer(context)) == 1
    else { return CURLE_SSL_CONNECT_ERROR }
    return CURLE_OK
}

/// Called with a part of a body. Any result but the whole size ends the transfer.
func curlReceiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let userData = unsafe userData, let bytes = unsafe bytes else { return 0 }
    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    let isTaken = unsafe Unmanaged<HTTPReply>.fromOpaque(userData)._withUnsafeGuaranteedRef {
        unsafe $0.receiveBody(part)
    }
    return isTaken ? size * count : 0
}

/// Called with a header line. Any result but the whole size ends the transfer.
func curlReceiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let userData = unsafe userData, let bytes = unsafe bytes else { return 0 }
    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    let isTaken = unsafe Unmanaged<HTTPReply>.fromOpaque(userData)._withUnsafeGuaranteedRef {
        unsafe $0.receiveLine(part)
    }
    return isTaken ? size * count : 0
}
