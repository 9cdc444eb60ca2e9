import CSQLite

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

    /// Whether the file is damaged or invalid, and a new one has to be started; else it may be good, and is tried again
    /// later.
    var isDamage: Bool {
        // All statements are constants that fit the schema: where one itself fails, the schema differs.
        let damage = [
            SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH,
            SQLITE_TOOBIG, SQLITE_RANGE, SQLITE_SCHEMA,
        ]
        return damage.contains(code & 0xff)
    }
}
