import CSQLite

/// A call of SQLite that failed.
struct SQLiteError: Error, Hashable, Sendable {
    /// What can be done about it.
    enum Remedy: Hashable, Sendable {
        /// The file is not what it should be: it is put aside, and another one begun.
        case replaceFile
        /// The file may be good, but cannot be used now: it is tried again later.
        case tryAgain
    }

    /// The extended result code, such as `SQLITE_IOERR_READ`.
    let code: Int32
    /// What was tried: "open", "commit".
    let operation: String
    /// SQLite's words.
    let reason: String

    /// The error that a connection has just reported; `connection` may be nil when it could not even be made.
    init(_ code: Int32, _ operation: String, on connection: OpaquePointer?) {
        self.code = code
        self.operation = operation
        let text = connection.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)
        reason = text.map { String(cString: $0) } ?? "error \(code)"
    }

    /// An error of ours: the file is readable, and wrong.
    init(damaged reason: String) {
        code = SQLITE_CORRUPT
        operation = "read"
        self.reason = reason
    }

    /// A row is not one that was written.
    static var damagedRow: SQLiteError { SQLiteError(damaged: "a row is not as it was written") }

    var remedy: Remedy {
        switch code & 0xff {
        // All statements are constants that fit the schema: where one fails as such, the schema is another one.
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
