import CSQLite
import Synchronization

/// Interrupts a long statement from another thread.
final class StatementInterrupt: Sendable {
    /// The address of the connection whose statements are interrupted; nil outside `interruptible`, when it may be
    /// closed.
    private let connection = Mutex<UInt?>(nil)

    init() {}

    func connect(_ handle: OpaquePointer) { connection.withLock { $0 = UInt(bitPattern: handle) } }

    func disconnect() { connection.withLock { $0 = nil } }

    /// Makes the running statement fail with `SQLITE_INTERRUPT`, at the next page that it reads.
    func raise() {
        connection.withLock { connection in
            if let handle = unsafe connection.flatMap({ unsafe OpaquePointer(bitPattern: $0) }) {
                unsafe sqlite3_interrupt(handle)
            }
        }
    }
}
