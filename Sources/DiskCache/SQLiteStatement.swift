import CSQLite

/// The owner of one compiled statement. Columns count from 0, parameters from 1.
struct SQLiteStatement: ~Copyable {
    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { sqlite3_finalize(handle) }

    /// A value of a parameter.
    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
        case null
    }

    /// Goes back to before the first row, with these parameters.
    ///
    /// - Parameter values: one for each parameter, in order.
    func bind(_ values: [Value]) throws(SQLiteError) {
        // Tells again what the last step told.
        sqlite3_reset(handle)
        for (index, value) in values.enumerated() {
            let code = bind(value, at: Int32(truncatingIfNeeded: index + 1))
            guard code == SQLITE_OK else { throw SQLiteError(code, "bind", on: sqlite3_db_handle(handle)) }
        }
    }

    private func bind(_ value: Value, at index: Int32) -> Int32 {
        switch value {
        case .integer(let number):
            return sqlite3_bind_int64(handle, index, number)
        case .text(var text):
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    csqlite_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count))
                }
            }
        case .blob(let bytes):
            return bytes.withUnsafeBytes { csqlite_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count)) }
        case .null:
            return sqlite3_bind_null(handle, index)
        }
    }

    /// Goes on to the next row.
    ///
    /// - Returns: false at the end; the statement then holds no lock any more.
    func step() throws(SQLiteError) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default:
            let error = SQLiteError(code, "step", on: sqlite3_db_handle(handle))
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs a statement that returns no rows.
    func run(_ values: [Value] = []) throws(SQLiteError) {
        try bind(values)
        while try step() {}
    }

    /// Leaves the rows that are left: no lock is held any more.
    func finish() { sqlite3_reset(handle) }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// The bytes of a text or blob; none of NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// A text; what is not UTF-8 in it is repaired, and so differs from what was written.
    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
