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

    /// A number and two blobs, the parameters of one row; the blobs are parts of bytes that stand elsewhere.
    struct Placed {
        let number: Int64
        let first: Range<Int>
        let second: Range<Int>
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
            try check(code, "bind")
        }
    }

    private func check(_ code: Int32, _ operation: String, against expected: Int32 = SQLITE_OK) throws(SQLiteError) {
        guard code == expected else { throw unsafe SQLiteError(code, operation, on: sqlite3_db_handle(handle)) }
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
        try check(code, "step", against: SQLITE_DONE)
        return false
    }

    /// Runs a statement that returns no rows.
    func run(_ values: [Value] = []) throws(SQLiteError) {
        try bind(values)
        while try step() {}
    }

    /// Runs a statement that returns no rows, with the parameters of some rows; SQLite reads the blobs where they stand
    /// instead of making copies.
    func run(_ rows: ArraySlice<Placed>, in bytes: [UInt8]) throws(SQLiteError) {
        // Not read again after the last step: whatever runs the statement binds all its parameters first.
        let code = unsafe bytes.withUnsafeBytes { bytes in
            var index: Int32 = 1
            for row in rows {
                var code = unsafe sqlite3_bind_int64(handle, index, row.number)
                if code == SQLITE_OK { code = unsafe bind(bytes[row.first], at: index + 1) }
                if code == SQLITE_OK { code = unsafe bind(bytes[row.second], at: index + 2) }
                guard code == SQLITE_OK else { return code }
                index += 3
            }
            return unsafe sqlite3_step(handle)
        }
        defer { reset() }
        try check(code, "step", against: SQLITE_DONE)
    }

    private func bind(_ part: Slice<UnsafeRawBufferPointer>, at index: Int32) -> Int32 {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: part)
        return unsafe csqlite_bind_blob_in_place(handle, index, bytes.baseAddress, Int32(clamping: bytes.count))
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
