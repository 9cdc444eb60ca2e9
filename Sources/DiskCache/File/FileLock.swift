import Glibc
import Platform

/// The right to be the only daemon that uses a file; given back when it goes, also by a crash.
///
/// Taken on a file of its own beside it: SQLite's locks on the database would be lost with any other descriptor of it.
struct FileLock: ~Copyable {
    private let descriptor: Descriptor

    private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Not by closing alone: a child of this process has a copy of the descriptor until it runs its own program.
    deinit { _ = flock(descriptor.number, LOCK_UN) }

    /// Takes it; nil when another process has it.
    ///
    /// - Throws: when the lock's file cannot be made.
    static func take(_ path: String) throws(SystemError) -> FileLock? {
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw .last("open \(path)") }
        let descriptor = Descriptor(owning: number)
        guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw .last("lock \(path)") }
            return nil
        }
        return FileLock(descriptor)
    }
}
