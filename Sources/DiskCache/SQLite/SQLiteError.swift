import CSQLite

/// A failed call of SQLite.
struct SQLiteError: Error, Hashable, Sendable {
    /// The reaction to an error.
    enum Remedy: Hashable, Sendable {
        /// The file is damaged or invalid: it is renamed, and a new one started.
        case replaceFile
        /// The file may be good, but cannot be used now: it is tried again later.
        case tryAgain
    }

    /// The extended result code, such as `SQLITE_IOERR_READ`.
    let code: Int32
    /// What was attempted: "open", "commit".
    let operation: String
    /// SQLite's error text.
    let reason: String

    /// The error that a connection has just reported; `connection` is nil when it could not be created.
    init(_ code: Int32, _ operation: String, on connection: OpaquePointer?) {
        self.code = code
        self.operation = operation
        let text = unsafe connection.map { unsafe sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        reason = unsafe text.map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    /// An error detected by this program: the file is readable, but its content is invalid.
    init(damaged reason: String) {
        code = SQLITE_CORRUPT
        operation = "read"
        self.reason = reason
    }

    /// The error of a row that differs from what was written.
    static var damagedRow: SQLiteError { SQLiteError(damaged: "a row is not as it was written") }

    var remedy: Remedy {
        switch code & 0xff {
        // All statements are constants that fit the schema: where one itself fails, the schema differs.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH,
            SQLITE_TOOBIG,
            SQLITE_RANGE, SQLITE_SCHEMA:
            .replaceFile
        default: .tryAgain
        }
    }
}

extension SQLiteError: CustomStringConvertible {
    var description: String { "\(operation): \(reason)" }
}
