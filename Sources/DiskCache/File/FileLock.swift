import Glibc
import Platform

/// The exclusive lock of a daemon on a file; released when the owner is destroyed or the process ends.
///
/// Taken on a separate file beside it: closing any descriptor of the database itself would release SQLite's locks on
/// it.
struct FileLock: ~Copyable {
    private let descriptor: Descriptor

    private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Unlocked explicitly: closing is not enough, since a child process has a copy of the descriptor until its exec.
    deinit { _ = flock(descriptor.number, LOCK_UN) }

    /// Takes the lock; returns nil when another process holds it.
    ///
    /// - Throws: when the lock file cannot be created.
    static func take(_ path: String) throws(SystemError) -> FileLock? {
        let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw .last("open \(path)") }
        let descriptor = Descriptor(owning: number)
        guard flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw .last("lock \(path)") }
            return nil
        }
        return FileLock(descriptor)
    }
}
