import CCurl
import Platform
import Scheduling

/// The owner of one libcurl multi handle: a pool of connections, and the transfers on them.
///
/// Released on the loop's thread, after every easy handle was removed; closing its connections calls `sockets`.
struct CurlMulti: ~Copyable {
    private let pointer: UnsafeMutableRawPointer
    private let sockets: HTTPSockets

    /// - Parameter connections: the most connections at once, idle ones included.
    init(_ sockets: HTTPSockets, connections: Int) throws(CurlError) {
        guard curlIsReady, let pointer = curl_multi_init() else { throw CurlError(CURLE_FAILED_INIT) }
        do {
            try Self.setCallbacks(pointer, sockets)
            try Self.setLimits(pointer, connections)
        } catch {
            curl_multi_cleanup(pointer)
            throw error
        }
        self.pointer = pointer
        self.sockets = sockets
    }

    private static func setCallbacks(_ pointer: UnsafeMutableRawPointer, _ sockets: HTTPSockets) throws(CurlError) {
        let userData = Unmanaged.passUnretained(sockets).toOpaque()
        try checked(ccurl_multi_set_on_socket(pointer, curlSocketChanged))
        try checked(ccurl_multi_set_pointer(pointer, CURLMOPT_SOCKETDATA, userData))
        try checked(ccurl_multi_set_on_timer(pointer, curlTimerChanged))
        try checked(ccurl_multi_set_pointer(pointer, CURLMOPT_TIMERDATA, userData))
    }

    private static func setLimits(
        _ pointer: UnsafeMutableRawPointer, _ connections: Int
    ) throws(CurlError) {
        try checked(ccurl_multi_set_long(pointer, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections))
        try checked(ccurl_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, connections))
    }

    deinit {
        curl_multi_cleanup(pointer)
        Loop.assumeIsolated { [sockets] in sockets.end() }
    }

    /// Adds a transfer, started at the next turn of the loop.
    func add(_ easy: UnsafeMutableRawPointer) throws(CurlError) { try checked(curl_multi_add_handle(pointer, easy)) }

    /// Removes a transfer, ended or not: resets its stream, or closes its connection where the protocol has no streams.
    func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(pointer, easy) }

    /// Lets libcurl handle a descriptor that is ready for `events`, or, with nil, expired timers.
    func act(on descriptor: Int32?, _ events: Int32 = 0) {
        var running: Int32 = 0
        curl_multi_socket_action(pointer, descriptor ?? ccurl_no_socket, events, &running)
    }

    /// The next transfer that has ended, and its result.
    func nextEnded() -> (easy: UnsafeMutableRawPointer, result: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(pointer, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            return (easy, message.pointee.data.result)
        }
        return nil
    }
}
