import CSQLite

/// The owner of one compiled statement. Columns count from 0, parameters from 1.
@safe struct SQLiteStatement: ~Copyable {
    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) { unsafe self.handle = unsafe handle }

    deinit { unsafe sqlite3_finalize(handle) }

    /// A value of a parameter.
    enum Value {
        case integer(Int64)
        /// Stored as the signed number with the same bits.
        case bits(UInt64)
        case text(String)
        case blob([UInt8])
        case null
    }

    /// Resets the statement to before the first row, with these parameters.
    ///
    /// - Parameter values: one for each parameter, in order.
    func bind(_ values: [Value]) throws(SQLiteError) {
        reset()
        for (index, value) in values.enumerated() {
            let index = Int32(truncatingIfNeeded: index + 1)
            switch value {
            case .integer(let number): try bind(number, at: index)
            case .bits(let bits): try bind(Int64(bitPattern: bits), at: index)
            case .text(let text): try bind(text: Array(text.utf8), at: index)
            case .blob(let bytes): try bind(blob: bytes, at: index)
            case .null: try bindNull(at: index)
            }
        }
    }

    private func bind(_ number: Int64, at index: Int32) throws(SQLiteError) {
        unsafe try check(sqlite3_bind_int64(handle, index, number))
    }

    /// Binds a copy of these bytes, which are UTF-8.
    private func bind(text: [UInt8], at index: Int32) throws(SQLiteError) {
        unsafe try check(
            text.withUnsafeBytes { unsafe csqlite_bind_text(handle, index, $0.baseAddress, Int32(clamping: $0.count)) })
    }

    /// Binds a copy of these bytes.
    private func bind(blob: [UInt8], at index: Int32) throws(SQLiteError) {
        unsafe try check(
            blob.withUnsafeBytes { unsafe csqlite_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count)) })
    }

    private func bindNull(at index: Int32) throws(SQLiteError) { unsafe try check(sqlite3_bind_null(handle, index)) }

    private func check(_ code: Int32) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw unsafe SQLiteError(code, "bind", on: sqlite3_db_handle(handle)) }
    }

    // MARK: Rows

    /// Resets the statement to before the first row; the parameters stay. It then holds no lock.
    func reset() { unsafe sqlite3_reset(handle) }

    /// Advances to the next row.
    ///
    /// - Returns: false at the end; the statement then holds no lock.
    func step() throws(SQLiteError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            unsafe sqlite3_reset(handle)
            return false
        default:
            let error = unsafe SQLiteError(code, "step", on: sqlite3_db_handle(handle))
            unsafe sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs a statement that returns no rows.
    func run(_ values: [Value] = []) throws(SQLiteError) {
        try bind(values)
        while try step() {}
    }

    /// Runs a statement that returns no rows, whose texts and blobs are parts of `bytes`: SQLite reads them there instead
    /// of making copies.
    ///
    /// - Parameter bind: binds all parameters, in order.
    func run(
        in bytes: [UInt8], _ bind: (inout PlacedParameters) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        // Not read again after the last step: whatever runs the statement binds all its parameters first.
        let outcome = unsafe bytes.withUnsafeBytes { bytes -> Result<Int32, SQLiteError> in
            var parameters = unsafe PlacedParameters(handle, bytes)
            do throws(SQLiteError) { try bind(&parameters) } catch { return .failure(error) }
            return unsafe .success(sqlite3_step(handle))
        }
        defer { reset() }
        let code = try outcome.get()
        guard code == SQLITE_DONE else { throw unsafe SQLiteError(code, "step", on: sqlite3_db_handle(handle)) }
    }

    /// Parameters that are bound one after the other, of which texts and blobs stand in bytes that stay where they are.
    @safe struct PlacedParameters: ~Copyable {
        private let handle: OpaquePointer
        private let bytes: UnsafeRawBufferPointer
        private var index: Int32 = 0

        fileprivate init(_ handle: OpaquePointer, _ bytes: UnsafeRawBufferPointer) {
            unsafe self.handle = unsafe handle
            unsafe self.bytes = unsafe bytes
        }

        mutating func bind(_ number: Int64) throws(SQLiteError) {
            index += 1
            unsafe try check(sqlite3_bind_int64(handle, index, number))
        }

        /// - Parameter place: where the UTF-8 stands; an empty one is NULL.
        mutating func bind(text place: Range<Int>) throws(SQLiteError) {
            index += 1
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[place])
            unsafe try check(
                part.isEmpty
                    ? sqlite3_bind_null(handle, index)
                    : csqlite_bind_text_in_place(handle, index, part.baseAddress, Int32(clamping: part.count)))
        }

        mutating func bind(blob place: Range<Int>) throws(SQLiteError) {
            index += 1
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[place])
            unsafe try check(csqlite_bind_blob_in_place(handle, index, part.baseAddress, Int32(clamping: part.count)))
        }

        mutating func bindNulls(_ count: Int) throws(SQLiteError) {
            for _ in 0..<count {
                index += 1
                unsafe try check(sqlite3_bind_null(handle, index))
            }
        }

        private func check(_ code: Int32) throws(SQLiteError) {
            guard code == SQLITE_OK else { throw unsafe SQLiteError(code, "bind", on: sqlite3_db_handle(handle)) }
        }
    }

    func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// The number in a column. A number is only available with a range, so that no sum of numbers can overflow.
    ///
    /// - Throws: that the file is damaged, for a number outside `range`.
    func integer(_ column: Int32, in range: ClosedRange<Int64>) throws(SQLiteError) -> Int64 {
        let number = unsafe sqlite3_column_int64(handle, column)
        guard range.contains(number) else { throw .damagedRow }
        return number
    }

    /// The 64 bits of a column that are compared and never computed with: a checksum.
    func bits(_ column: Int32) -> UInt64 { unsafe UInt64(bitPattern: sqlite3_column_int64(handle, column)) }

    /// The bytes of a text or blob; empty for NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// The text of a column; invalid UTF-8 is repaired, and so differs from what was written.
    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}
