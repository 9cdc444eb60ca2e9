import Glibc
import Platform
import Synchronization

/// SQLite's integrity check of the whole file, on its own thread.
///
/// It opens the file a second time, by its path, and without its write-ahead log: so the file must not be changed,
/// closed or renamed until it has ended.
final class SoundnessCheck: Sendable {
    private let isStopping = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)
    private let interrupt = StatementInterrupt()

    /// Interval in microseconds at which the interrupt is repeated, for a statement that had not begun at the first
    /// one.
    private static let interruptInterval: UInt32 = 500

    /// Starts the check.
    ///
    /// - Parameters:
    ///   - system: the name of a registered VFS; nil: SQLite's default.
    ///   - report: called on its thread when the file is damaged.
    /// - Throws: when no thread can be created.
    init(_ path: String, system: String?, report: @escaping @Sendable () -> Void) throws(SystemError) {
        _ = try NamedThread("disk check") { [self] in
            if finding(path, system) == false { report() }
            isOver.store(true, ordering: .releasing)
        }
    }

    /// Whether it is complete or was stopped.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Stops it, and waits until it has ended: for as long as the disk takes to read a page.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        while !hasEnded {
            interrupt.raise()
            usleep(Self.interruptInterval)
        }
    }

    /// Whether the file is undamaged; nil when that is unknown.
    private func finding(_ path: String, _ system: String?) -> Bool? {
        guard !isStopping.load(ordering: .acquiring) else { return nil }
        do throws(SQLiteError) {
            let connection = try SQLiteConnection(path, .unchanging, system: system)
            return try connection.interruptible(by: interrupt) { () throws(SQLiteError) in
                let check = try connection.prepare("PRAGMA quick_check(1)")
                return try check.step() && check.text(0) == "ok"
            }
        } catch {
            return error.remedy == .replaceFile ? false : nil
        }
    }
}
