import CSQLite

/// The owner of a connection to one database file; for one thread.
@safe struct SQLiteConnection: ~Copyable {
    enum Mode {
        /// Creates the file if there is none.
        case readWrite
        /// Never writes, takes no lock, ignores the write-ahead log, and fails where there is no file: for a file that
        /// does not change while it is read.
        case unchanging
        /// A database in memory; the path is not used.
        case memory
    }

    private let handle: OpaquePointer

    /// The longest row in bytes. It may have 64 KiB of records of each address family, and the texts of 4,090 IPv4 and 2,340
    /// IPv6 addresses.
    private static let longestValue: Int32 = 1 << 19
    /// Run once, before the first connection is opened.
    private static let configuration: Void = csqlite_configure()
    /// The longest wait for another process's lock, in milliseconds: longer than a short query by the `sqlite3` tool.
    private static let lockPatience: Int32 = 250

    /// Opens a file, without reading it yet.
    ///
    /// - Parameter system: the name of a registered VFS; nil: SQLite's default.
    init(_ path: String, _ mode: Mode, system: String? = nil) throws(SQLiteError) {
        Self.configuration
        var opened: OpaquePointer?
        let flags =
            switch mode {
            case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .unchanging: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            case .memory: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY
            }
        let name = mode == .unchanging ? "file:\(path.uriPath)?immutable=1" : path
        let code = unsafe sqlite3_open_v2(name, &opened, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, system)
        // The file is not memory-mapped: when it was truncated, a read fails, and the process continues. The index of
        // the write-ahead log would be mapped if the file were shared with other processes.
        let choice = "PRAGMA mmap_size = 0; PRAGMA locking_mode = EXCLUSIVE"
        let outcome = unsafe code == SQLITE_OK ? sqlite3_exec(opened, choice, nil, nil, nil) : code
        guard outcome == SQLITE_OK, let opened = unsafe opened else {
            let error = unsafe SQLiteError(outcome, "open", on: opened)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        unsafe handle = unsafe opened
        unsafe csqlite_harden(handle, Self.longestValue)
        unsafe sqlite3_busy_timeout(handle, Self.lockPatience)
    }

    // Deferred by SQLite until the last open statement is finalized.
    deinit { unsafe sqlite3_close_v2(handle) }

    /// Runs constant statements that return nothing.
    func execute(_ sql: StaticString) throws(SQLiteError) {
        let code = unsafe sqlite3_exec(
            handle, UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self), nil, nil, nil)
        guard code == SQLITE_OK else { throw unsafe SQLiteError(code, "\(sql)".firstWords, on: unsafe handle) }
    }

    /// Compiles one constant statement, to be run many times.
    func prepare(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement { try prepare(text: "\(sql)") }

    /// The same for a statement that ends in the same values several times.
    func prepare(_ head: StaticString, _ values: StaticString, times: Int) throws(SQLiteError) -> SQLiteStatement {
        try prepare(text: "\(head) " + [String](repeating: "\(values)", count: times).joined(separator: ", "))
    }

    private func prepare(text: String) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else {
            throw unsafe SQLiteError(code, text.firstWords, on: handle)
        }
        return unsafe SQLiteStatement(owning: statement)
    }

    /// The first column of the first row, which must be in `range`; nil when there is no row.
    func integer(_ sql: StaticString, in range: ClosedRange<Int64>) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? try statement.integer(0, in: range) : nil
    }

    /// Runs `body` in one transaction, which is rolled back when it throws.
    func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // After some errors SQLite has rolled back already, and this fails.
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// Lets `interrupt` interrupt the connection's statements while `body` runs.
    func interruptible<Value>(
        by interrupt: StatementInterrupt, _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value {
        unsafe interrupt.connect(handle)
        defer { interrupt.disconnect() }
        return try body()
    }
}

extension String {
    /// As a path in a URI, with reserved bytes escaped.
    fileprivate var uriPath: String {
        var bytes: [UInt8] = []
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                bytes += Array("%".utf8) + Array(String(byte, radix: 16).utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The beginning of a statement, for error texts.
    fileprivate var firstWords: String { String(prefix(40)) }
}
