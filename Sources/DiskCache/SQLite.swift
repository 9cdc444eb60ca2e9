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
        let code = unsafe sqlite3_exec(handle, "\(sql)", nil, nil, nil)
        guard code == SQLITE_OK else { throw unsafe SQLiteError(code, on: handle) }
    }

    /// Compiles one constant statement, to be run many times.
    func prepare(_ sql: StaticString) throws(SQLiteError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(handle, "\(sql)", -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
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

/// The owner of one compiled statement. Columns count from 0, parameters from 1.
@safe struct SQLiteStatement: ~Copyable {
    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) { unsafe self.handle = unsafe handle }

    deinit { unsafe sqlite3_finalize(handle) }

    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    /// Resets the statement to before the first row, with these values for its parameters, in order.
    func bind(_ values: [Value]) throws(SQLiteError) {
        reset()
        for (index, value) in values.enumerated() {
            let index = Int32(truncatingIfNeeded: index + 1)
            let code =
                switch value {
                case .integer(let number): unsafe sqlite3_bind_int64(handle, index, number)
                case .text(let text):
                    unsafe Array(text.utf8).withUnsafeBytes {
                        unsafe csqlite_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count))
                    }
                case .blob(let bytes):
                    unsafe bytes.withUnsafeBytes {
                        unsafe csqlite_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count))
                    }
                }
            try check(code)
        }
    }

    private func check(_ code: Int32, against expected: Int32 = SQLITE_OK) throws(SQLiteError) {
        guard code == expected else { throw unsafe SQLiteError(code, on: sqlite3_db_handle(handle)) }
    }

    /// Runs a statement that returns no rows, with these values for its parameters, in order.
    func run(_ values: [Value] = []) throws(SQLiteError) {
        try bind(values)
        defer { reset() }
        try check(unsafe sqlite3_step(handle), against: SQLITE_DONE)
    }

    /// Resets the statement to before the first row; the parameters stay. It then holds no lock.
    func reset() { unsafe sqlite3_reset(handle) }

    /// Advances to the next row. Returns false at the end; the statement then holds no lock.
    func step() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        defer { reset() }
        try check(code, against: SQLITE_DONE)
        return false
    }

    /// The number in a column, as the file has it: any.
    func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    /// The bytes of a text or blob; empty for NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// The text of a column; invalid UTF-8 is repaired, and so differs from what was written.
    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// A failed call of SQLite.
struct SQLiteError: Error, CustomStringConvertible, Hashable, Sendable {
    /// The extended result code, such as `SQLITE_IOERR_READ`.
    let code: Int32
    /// SQLite's error text.
    let description: String

    /// The error that a connection has just reported; `connection` is nil when it could not be created.
    init(_ code: Int32, on connection: OpaquePointer?) {
        self.code = code
        let text = unsafe connection.map { unsafe sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        description = unsafe text.map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    /// An error detected by this program: the file is readable, but its content is invalid.
    init(damaged description: String) {
        code = SQLITE_CORRUPT
        self.description = description
    }

    /// Whether another process holds the file's lock.
    var isBusy: Bool { code & 0xff == SQLITE_BUSY }

    /// Whether the file is damaged or invalid, and a new one has to be started; else it is tried again later.
    var isDamage: Bool {
        // All statements are constants that fit the schema: where one itself fails, the schema differs.
        let damage = [
            SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH,
            SQLITE_TOOBIG, SQLITE_RANGE, SQLITE_SCHEMA,
        ]
        return damage.contains(code & 0xff)
    }
}
