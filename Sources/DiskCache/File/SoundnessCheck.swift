import Glibc
import Platform
import Synchronization

/// SQLite's own check of the whole file, on a thread of its own.
///
/// It opens the file a second time, by its path, and without its log: so the file must not change until it has ended, nor be
/// closed or renamed.
final class SoundnessCheck: Sendable {
    private let isStopping = Atomic<Bool>(false)
    private let isOver = Atomic<Bool>(false)
    private let interrupt = StatementInterrupt()

    /// How long until a statement that had not begun when it was to end is told again, in microseconds.
    private static let interruptInterval: UInt32 = 500

    /// Begins at once.
    ///
    /// - Parameters:
    ///   - system: the name of a registered VFS; nil: SQLite's default.
    ///   - report: called on its thread when the file is damaged.
    /// - Throws: when there is no thread to spare.
    init(_ path: String, system: String?, report: @escaping @Sendable () -> Void) throws(SystemError) {
        _ = try NamedThread("disk check") { [self] in
            if finding(path, system) == false { report() }
            isOver.store(true, ordering: .releasing)
        }
    }

    /// Whether it has found what there is to find, or was ended.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }

    /// Ends it, and waits until it has: for as long as the disk takes to read a page.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        while !hasEnded {
            interrupt.raise()
            usleep(Self.interruptInterval)
        }
    }

    /// Whether the file is sound; nil when that is not known.
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
