import CNghttp2

/// The header of an HTTP/2 request or response in nghttp2's form: lower-case names, and values, in one contiguous buffer.
package struct HTTP2Fields {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int, flags: UInt8)] = []

    package init() {}

    package var count: Int { lengths.count }

    /// - Parameters:
    ///   - name: in lower case.
    ///   - isIndexed: whether the table of header compression takes up the field. With a value that differs from one message
    ///     to the next it would only fill the table: 10 KiB of memory for as long as the connection lasts.
    package mutating func add(_ name: String, _ value: String, isIndexed: Bool = true) {
        var (name, value) = (name, value)
        let before = bytes.count
        name.withUTF8 { unsafe bytes.append(contentsOf: $0) }
        let middle = bytes.count
        value.withUTF8 { unsafe bytes.append(contentsOf: $0) }
        let flags = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
        lengths.append((middle - before, bytes.count - middle, UInt8(flags.rawValue)))
    }

    /// Removes all but the first `count` fields, and retains the memory.
    package mutating func removeAll(after count: Int) {
        for length in lengths[count...] { bytes.removeLast(length.name + length.value) }
        lengths.removeLast(lengths.count - count)
    }

    /// Lends the fields as nghttp2's C structures.
    mutating func withPairs<Result>(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        unsafe bytes.withUnsafeMutableBufferPointer { [lengths] bytes in
            unsafe withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { pairs in
                var next = bytes.baseAddress
                for (index, length) in lengths.enumerated() {
                    let value = unsafe next.map { unsafe $0 + length.name }
                    unsafe pairs.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: next, value: value, namelen: length.name, valuelen: length.value,
                            flags: length.flags))
                    unsafe next = unsafe value.map { unsafe $0 + length.value }
                }
                return unsafe body(UnsafeBufferPointer(pairs))
            }
        }
    }
}
