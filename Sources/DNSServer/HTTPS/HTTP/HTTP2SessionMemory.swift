import CLinux
import CNghttp2

/// What HTTP/2 sessions share: memory of nghttp2's, of which most is never touched, that of a response's header, and its
/// date.
///
/// nghttp2 reserves 16 KiB for a frame to send, for as long as a session lives. Here a session has six pages of its own for
/// that, its streams and itself, and only ever short frames to make (`HTTPServerLimits.frame`): so it touches two pages of
/// the six. All of them go back to the system with the session. Without memory for them, all is malloc's.
@safe final class HTTP2SessionMemory {
    fileprivate let slots: OpaquePointer?
    /// Of one response at a time.
    var fields = HTTP2ServerFields()
    let date: ResponseDate

    init(date: ResponseDate = ResponseDate()) {
        self.date = date
        unsafe slots = unsafe clinux_slots_new()
    }

    deinit { unsafe clinux_slots_delete(slots) }

    /// Bytes that the large blocks of all sessions take now.
    var resident: Int { unsafe clinux_slots_resident(slots) }

    /// The part of one session, which must be gone before it.
    @safe struct Part: ~Copyable {
        let memory: HTTP2SessionMemory
        private let slot: UnsafeMutableRawPointer?

        init(of memory: HTTP2SessionMemory) {
            self.memory = memory
            unsafe slot = unsafe clinux_slots_take(memory.slots)
        }

        deinit { unsafe clinux_slots_return(memory.slots, slot) }

        /// The functions by which nghttp2 allocates for the session.
        var allocator: nghttp2_mem {
            unsafe nghttp2_mem(
                mem_user_data: slot, malloc: clinux_slot_malloc, free: clinux_slot_free, calloc: clinux_slot_calloc,
                realloc: clinux_slot_realloc)
        }
    }
}
