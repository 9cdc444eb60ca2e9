import DNSWire

extension OutputSpan where Element == UInt8 {
    /// Appends a reply, checked once for room: header, question, records with their TTLs changed by `age`, OPT record.
    ///
    /// - Parameters:
    ///   - header: its first eight bytes.
    ///   - counts: its last four bytes.
    ///   - message: the client's, from which the question is copied.
    ///   - ttlOffsets: where TTLs lie in `body`.
    ///   - opt: the first eight bytes of the fixed part of an OPT record, the root name first; 0 for none.
    @inline(__always)
    mutating func append(
        header: UInt64, counts: UInt32, message: Span<UInt8>, questionLength: Int, body: Span<UInt8>,
        ttlOffsets: Span<UInt16>, aging: Reply.Aging, opt: UInt64, options: Span<UInt8>
    ) {
        let head = Header.length &+ questionLength
        let bodyCount = body.count
        let optCount = opt == 0 ? 0 : EDNS.recordLength &+ options.count
        precondition(head <= message.count && head &+ bodyCount &+ optCount <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            let reply = unsafe UnsafeMutableRawPointer(start + initialized)
            // The client's header is copied with the question, and then overwritten: so there are always 16 bytes.
            unsafe message.withUnsafeBytes { unsafe reply.copyBlocks($0, count: head) }
            unsafe reply.storeBytes(of: header.bigEndian, as: UInt64.self)
            unsafe reply.storeBytes(of: counts.bigEndian, toByteOffset: 8, as: UInt32.self)
            let records = unsafe reply + head
            unsafe body.withUnsafeBytes { bytes in
                if bodyCount >= 16, bodyCount <= 64 { return unsafe records.copyBlocks(bytes, count: bodyCount) }
                guard let source = bytes.baseAddress else { return }
                unsafe records.copyMemory(from: source, byteCount: bodyCount)
            }
            for index in ttlOffsets.indices {
                let offset = Int(ttlOffsets[index])
                precondition(offset &+ 4 <= bodyCount)
                let kept = unsafe UInt32(bigEndian: records.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                unsafe records.storeBytes(of: aging.ttl(kept).bigEndian, toByteOffset: offset, as: UInt32.self)
            }
            if opt != 0 {
                let record = unsafe records + bodyCount
                unsafe record.storeBytes(of: opt.bigEndian, as: UInt64.self)
                unsafe record.storeBytes(of: 0, toByteOffset: 8, as: UInt8.self)
                let length = UInt16(truncatingIfNeeded: options.count)
                unsafe record.storeBytes(of: length.bigEndian, toByteOffset: 9, as: UInt16.self)
                unsafe options.withUnsafeBytes { bytes in
                    guard let source = bytes.baseAddress else { return }
                    unsafe (record + EDNS.recordLength).copyMemory(from: source, byteCount: bytes.count)
                }
            }
            initialized &+= head &+ bodyCount &+ optCount
        }
    }
}

extension UnsafeMutableRawPointer {
    /// Copies the first `count` bytes of `source`, 16 or more, from elsewhere in memory.
    @unsafe
    @inline(__always)
    fileprivate func copyBlocks(_ source: UnsafeRawBufferPointer, count: Int) {
        guard let from = source.baseAddress else { return }
        var at = 0
        while at &+ 16 < count {
            unsafe copyBlock(from, at: at)
            at &+= 16
        }
        // The last 16 bytes, some of them for the second time.
        unsafe copyBlock(from, at: count &- 16)
    }

    @unsafe
    @inline(__always)
    private func copyBlock(_ from: UnsafeRawPointer, at offset: Int) {
        unsafe storeBytes(
            of: from.loadUnaligned(fromByteOffset: offset, as: SIMD2<UInt64>.self), toByteOffset: offset,
            as: SIMD2<UInt64>.self)
    }
}
