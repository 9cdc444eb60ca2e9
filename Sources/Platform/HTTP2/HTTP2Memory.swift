import CNghttp2
import CSystem.Linux

/// Memory for the engines of servers, of which most is never touched.
///
/// nghttp2 reserves 16 KiB for a frame to send, for as long as an engine lives. Here an engine has six pages of its own for
/// that, its streams and itself: with only ever short frames to make it touches two of the six. All of them go back to the
/// system with the engine. Without memory for them, all is malloc's.
@safe public final class HTTP2Memory {
    fileprivate let slots: OpaquePointer?

    public init() { unsafe slots = unsafe clinux_slots_new(DescriptorBudget.encryptedConnections) }

    deinit { unsafe clinux_slots_delete(slots) }

    /// Bytes that the large blocks of all engines take now.
    public var resident: Int { unsafe clinux_slots_resident(slots) }

    /// The part of one engine, which must be gone before it.
    @safe struct Part: ~Copyable {
        private let memory: HTTP2Memory
        private let slot: UnsafeMutableRawPointer?

        init(of memory: HTTP2Memory) {
            self.memory = memory
            unsafe slot = unsafe clinux_slots_take(memory.slots)
        }

        deinit { unsafe clinux_slots_return(memory.slots, slot) }

        /// The functions by which nghttp2 allocates for the engine.
        var allocator: nghttp2_mem {
            unsafe nghttp2_mem(
                mem_user_data: slot, malloc: clinux_slot_malloc, free: clinux_slot_free, calloc: clinux_slot_calloc,
                realloc: clinux_slot_realloc)
        }
    }
}
