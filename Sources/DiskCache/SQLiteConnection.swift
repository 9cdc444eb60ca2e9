import CSQLite

/// The owner of a connection to one database file; for one thread.
@safe struct SQLiteConnection: ~Copyable {
    private let handle: OpaquePointer

    /// The longest value in bytes: an answer of each address family, of 64 KiB at most.
    private static let longestValue: Int32 = 1 << 18
    /// Run once, before the first connection is opened.
    private static let configuration: Void = csqlite_configure()
    /// The longest wait for another process's lock, in milliseconds: longer than a short query by the `sqlite3` tool.
    private static let lockPatience: Int32 = 250

    /// Opens a file, without reading it yet, and creates it if there is none.
    init(_ path: String) throws(SQLiteError) {
        Self.configuration
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        // The file is not memory-mapped: when it was truncated, a read fails, and the process continues. The index of
        // the write-ahead log would be mapped if the file were shared with other processes.
        let choice = "PRAGMA mmap_size = 0; PRAGMA locking_mode = EXCLUSIVE"
        let outcome = unsafe code == SQLITE_OK ? sqlite3_exec(opened, choice, nil, nil, nil) : code
        guard outcome == SQLITE_OK, let opened = unsafe opened else {
            let error = unsafe SQLiteError(outcome, on: opened)
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
        guard code == SQLITE_OK else { throw unsafe SQLiteError(code, on: handle) }
    }

    /// Compiles one constant statement, to be run many times.
    func prepare(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(
            handle, "\(sql)", -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement = unsafe statement else { throw unsafe SQLiteError(code, on: handle) }
        return unsafe SQLiteStatement(owning: statement)
    }

    /// Runs one constant statement that returns nothing.
    func run(_ sql: StaticString, _ values: SQLiteStatement.Value...) throws(SQLiteError) {
        try prepare(sql).run(values)
    }

    /// The first column of the first row; nil when there is no row.
    func integer(_ sql: StaticString) throws(SQLiteError) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Runs `body` in one transaction; after an error the connection must be closed, which takes it back.
    func transaction<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try execute("BEGIN IMMEDIATE")
        let value = try body()
        try execute("COMMIT")
        return value
    }
}
