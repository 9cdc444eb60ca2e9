import CNghttp2

/// The header of a response in nghttp2's form. The memory is retained for the next one.
struct HTTP2ServerFields {
    private var bytes: [UInt8] = []
    private var lengths: [(name: StaticString, value: Int)] = []

    mutating func add(_ name: StaticString, _ value: StaticString) {
        value.withUTF8Buffer { bytes.append(contentsOf: $0) }
        lengths.append((name, value.utf8CodeUnitCount))
    }

    mutating func add(_ name: StaticString, _ value: String) {
        let before = bytes.count
        bytes.append(contentsOf: value.utf8)
        lengths.append((name, bytes.count - before))
    }

    mutating func add(_ name: StaticString, _ number: Int) { add(name, "\(number)") }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
    }

    /// Lends the fields as nghttp2's C structures.
    mutating func withPairs<Result>(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
        bytes.withUnsafeMutableBufferPointer { [lengths] bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { pairs in
                var next = bytes.baseAddress
                for (index, length) in lengths.enumerated() {
                    pairs.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: UnsafeMutablePointer(mutating: length.name.utf8Start), value: next,
                            namelen: length.name.utf8CodeUnitCount, valuelen: length.value,
                            flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)))
                    next = next.map { $0 + length.value }
                }
                return body(UnsafeBufferPointer(pairs))
            }
        }
    }
}
