import CCurl
import Platform
import Scheduling

/// The owner of one libcurl multi handle: a pool of connections, and the transfers on them.
///
/// Released on the loop's thread, after every easy handle was removed; closing its connections calls `sockets`.
@safe struct CurlMulti: ~Copyable {
    private let pointer: UnsafeMutableRawPointer
    private let sockets: HTTPSockets

    /// - Parameter connections: the most connections at once, idle ones included.
    init(_ sockets: HTTPSockets, connections: Int) throws(CurlError) {
        guard curlIsReady, let pointer = unsafe curl_multi_init() else { throw CurlError(CURLE_FAILED_INIT) }
        do {
            unsafe try Self.setCallbacks(pointer, sockets)
            unsafe try checked(ccurl_multi_set_long(pointer, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections))
        } catch {
            unsafe curl_multi_cleanup(pointer)
            throw error
        }
        unsafe self.pointer = unsafe pointer
        self.sockets = sockets
    }

    private static func setCallbacks(_ pointer: UnsafeMutableRawPointer, _ sockets: HTTPSockets) throws(CurlError) {
        let userData = unsafe Unmanaged.passUnretained(sockets).toOpaque()
        unsafe try checked(ccurl_multi_set_on_socket(pointer, curlSocketChanged))
        unsafe try checked(ccurl_multi_set_pointer(pointer, CURLMOPT_SOCKETDATA, userData))
        unsafe try checked(ccurl_multi_set_on_timer(pointer, curlTimerChanged))
        unsafe try checked(ccurl_multi_set_pointer(pointer, CURLMOPT_TIMERDATA, userData))
    }

    /// Sets how many connections stay open: with more, libcurl closes an idle one when a transfer ends.
    func setOpenConnections(_ count: Int) {
        // It fails only for an option that libcurl does not know.
        _ = unsafe ccurl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, count)
    }

    deinit {
        unsafe curl_multi_cleanup(pointer)
        Loop.assumeIsolated { [sockets] in sockets.end() }
    }

    /// Adds a transfer, started at the next turn of the loop.
    func add(_ easy: UnsafeMutableRawPointer) throws(CurlError) {
        unsafe try checked(curl_multi_add_handle(pointer, easy))
    }

    /// Removes a transfer, ended or not: resets its stream, or closes its connection where the protocol has no streams.
    func remove(_ easy: UnsafeMutableRawPointer) { unsafe curl_multi_remove_handle(pointer, easy) }

    /// Lets libcurl handle a descriptor that is ready for `events`, or, with nil, expired timers.
    func act(on descriptor: Int32?, _ events: Int32 = 0) {
        var running: Int32 = 0
        unsafe curl_multi_socket_action(pointer, descriptor ?? ccurl_no_socket, events, &running)
    }

    /// The next transfer that has ended, and its result.
    func nextEnded() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let easy = unsafe message.pointee.easy_handle else {
                continue
            }
            return unsafe (easy, message.pointee.data.result)
        }
        return nil
    }
}

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
