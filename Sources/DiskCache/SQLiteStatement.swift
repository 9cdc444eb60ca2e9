import CSQLite

/// The owner of one compiled statement. Columns count from 0, parameters from 1.
@safe struct SQLiteStatement: ~Copyable {
    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) { unsafe self.handle = unsafe handle }

    deinit { unsafe sqlite3_finalize(handle) }

    /// A value of a parameter.
    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
    }

    /// Resets the statement to before the first row, with these parameters.
    ///
    /// - Parameter values: one for each parameter, in order.
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

    /// Runs a statement that returns no rows.
    ///
    /// - Parameter values: one for each parameter, in order.
    func run(_ values: [Value] = []) throws(SQLiteError) {
        try bind(values)
        defer { reset() }
        try check(unsafe sqlite3_step(handle), against: SQLITE_DONE)
    }

    // MARK: Rows

    /// Resets the statement to before the first row; the parameters stay. It then holds no lock.
    func reset() { unsafe sqlite3_reset(handle) }

    /// Advances to the next row.
    ///
    /// - Returns: false at the end; the statement then holds no lock.
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
