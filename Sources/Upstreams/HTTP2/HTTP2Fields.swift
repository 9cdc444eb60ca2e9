import CNghttp2

/// The header of a request in nghttp2's form: lower-case names, and values, in one contiguous buffer.
struct HTTP2Fields {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    var count: Int { lengths.count }

    mutating func add(_ name: String, _ value: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: value.utf8)
        lengths.append((name.utf8.count, value.utf8.count))
    }

    /// Removes all but the first `count` fields, and retains the memory.
    mutating func removeAll(after count: Int) {
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
                            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                    unsafe next = unsafe value.map { unsafe $0 + length.value }
                }
                return unsafe body(UnsafeBufferPointer(pairs))
            }
        }
    }
}
