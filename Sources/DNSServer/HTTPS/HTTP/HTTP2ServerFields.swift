import CNghttp2

/// The header of a response in nghttp2's form. The memory is retained for the next one.
struct HTTP2ServerFields {
    private var bytes: [UInt8] = []
    private var lengths: [(name: StaticString, value: Int, flags: UInt8)] = []

    private mutating func add(_ name: StaticString, _ value: StaticString) {
        value.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
        note(name, value.utf8CodeUnitCount)
    }

    private mutating func add(_ name: StaticString, _ value: String) {
        let before = bytes.count
        bytes.append(contentsOf: value.utf8)
        note(name, bytes.count - before)
    }

    private mutating func add(_ name: StaticString, _ number: Int) {
        let before = bytes.count
        append(number)
        note(name, bytes.count - before)
    }

    /// - Parameter number: 0 or more.
    private mutating func append(_ number: Int) {
        if number >= 10 { append(number / 10) }
        bytes.append(UInt8(truncatingIfNeeded: number % 10 + 0x30))
    }

    /// The text of `HTTPServerResponse.cacheControl`, which would take a tenth of what the response costs.
    private mutating func addCacheControl(_ response: HTTPServerResponse) {
        let before = bytes.count
        if let seconds = response.maxAge {
            ("max-age=" as StaticString).withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
            append(Int(seconds))
        } else {
            ("no-store" as StaticString).withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
        }
        note("cache-control", bytes.count - before, isIndexed: false)
    }

    private mutating func add(_ date: [UInt8]) {
        bytes.append(contentsOf: date)
        note("date", date.count, isIndexed: false)
    }

    /// - Parameter isIndexed: whether the table of header compression takes up the field. With a value that differs from one
    ///   response to the next, it would only fill the table: 10 KiB of memory for as long as the connection lasts.
    private mutating func note(_ name: StaticString, _ length: Int, isIndexed: Bool = true) {
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | (isIndexed ? 0 : NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        lengths.append((name, length, UInt8(flags)))
    }

    private mutating func set(_ response: HTTPServerResponse, date: [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        add(":status", response.status.rawValue)
        if let type = response.contentType { add("content-type", type) }
        add("content-length", response.body.count)
        addCacheControl(response)
        if !date.isEmpty { add(date) }
        for field in response.fields { add(field.name, field.value) }
    }

    /// Lends the fields of a response as nghttp2's C structures.
    mutating func withPairs<Result>(
        of response: HTTPServerResponse, date: [UInt8], _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result
    ) -> Result {
        set(response, date: date)
        return unsafe bytes.withUnsafeMutableBufferPointer { [lengths] bytes in
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { pairs in
                var next = bytes.baseAddress
                for (index, length) in lengths.enumerated() {
                    unsafe pairs.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: UnsafeMutablePointer(mutating: length.name.utf8Start), value: next,
                            namelen: length.name.utf8CodeUnitCount, valuelen: length.value,
                            flags: length.flags))
                    unsafe next = unsafe next.map { unsafe $0 + length.value }
                }
                return unsafe body(UnsafeBufferPointer(pairs))
            }
        }
    }
}
