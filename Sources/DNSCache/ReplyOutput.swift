import DNSWire

extension OutputSpan where Element == UInt8 {
    /// Appends a reply: header, question, records with their TTLs changed by `aging`, OPT record.
    ///
    /// Every bound is checked here, in release builds too, before the first byte is copied; but for the TTLs, each of
    /// which is checked before it is read.
    ///
    /// - Parameters:
    ///   - code: the RCODE, of which four bits stand in the header and the others in the OPT record.
    ///   - counts: of the records in `body`.
    ///   - message: the client's, from which the question is copied.
    ///   - limit: the longest response, in bytes; the free capacity is a limit too.
    /// - Returns: false, with nothing appended, when the message is shorter than its question, when there is no room,
    ///   or when a TTL would lie outside of `body`.
    @inline(__always)
    mutating func append(
        _ code: UInt16, counts: PackedAnswer.SectionCounts, body: Span<UInt8>, echo: Reply.Echo, message: Span<UInt8>,
        aging: Reply.Aging, options: Span<UInt8>, limit: Int
    ) -> Bool {
        let head = Header.length &+ echo.questionLength
        let bodyCount = body.count
        let count = echo.fixedLength &+ bodyCount &+ (echo.hasEDNS ? options.count : 0)
        guard head <= message.count, count <= limit, count <= freeCapacity else { return false }
        let header = echo.head | UInt64(code & 15) << 32 | UInt64(counts.answer)
        let further = UInt32(counts.authority) << 16 | UInt32(counts.additional &+ (echo.hasEDNS ? 1 : 0))
        return unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            guard let start = buffer.baseAddress else { return false }
            let reply = unsafe UnsafeMutableRawPointer(start + initialized)
            // The client's header is copied with the question, and then overwritten: so there mostly is a whole block.
            let isCopied = unsafe message.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress else { return false }
                if head >= 16 {
                    unsafe reply.copyBlocks(from, count: head)
                } else {
                    guard head >= Header.length else { return false }
                    unsafe reply.copyMemory(from: from, byteCount: head)
                }
                return true
            }
            guard isCopied else { return false }
            unsafe reply.storeBytes(of: header.bigEndian, as: UInt64.self)
            unsafe reply.storeBytes(of: further.bigEndian, toByteOffset: 8, as: UInt32.self)
            let records = unsafe reply + head
            unsafe body.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress else { return }
                // As long as most answers are: that spares a call.
                if bodyCount >= 16, bodyCount <= 64 { return unsafe records.copyBlocks(from, count: bodyCount) }
                unsafe records.copyMemory(from: from, byteCount: bodyCount)
            }
            var at = 0
            for _ in 0..<counts.total {
                guard let record = RecordPlace(in: body, at: at) else { return false }
                unsafe records.age(record.ttl, aging)
                at = record.end
            }
            if echo.hasEDNS {
                let record = unsafe records + bodyCount
                // The first byte is the root's name.
                let opt =
                    UInt64(RecordType.opt.rawValue) << 40 | UInt64(EDNS.defaultPayloadSize) << 24
                    | UInt64(code >> 4) << 16 | (echo.dnssecOK ? 0x80 : 0)
                unsafe record.storeBytes(of: opt.bigEndian, as: UInt64.self)
                unsafe record.storeBytes(of: 0, toByteOffset: 8, as: UInt8.self)
                let length = UInt16(truncatingIfNeeded: options.count)
                unsafe record.storeBytes(of: length.bigEndian, toByteOffset: 9, as: UInt16.self)
                unsafe options.withUnsafeBytes { bytes in
                    guard let from = bytes.baseAddress else { return }
                    unsafe (record + EDNS.recordLength).copyMemory(from: from, byteCount: bytes.count)
                }
            }
            initialized &+= count
            return true
        }
    }

    /// Gives the addresses of a response another order: the query's ID chooses which comes first.
    ///
    /// Their TTLs are written again. Nothing changes when the response is truncated, or when a part of the records
    /// would lie outside of it.
    ///
    /// - Precondition: nothing but one response with this body was written.
    @inline(never)
    mutating func rotateAddresses(
        of body: Span<UInt8>, answers: Int, aging: Reply.Aging
    ) {
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            guard let base = buffer.baseAddress, initialized > Header.length else { return }
            let reply = UnsafeMutableRawPointer(base)
            let head = unsafe UInt32(bigEndian: reply.loadUnaligned(as: UInt32.self))
            let isTruncated = head & 0x0200 != 0
            guard !isTruncated, let run = AddressRun(in: body, answers: answers) else { return }
            let shift = run.shift(id: UInt16(truncatingIfNeeded: head >> 16))
            let (start, end) = (run.start, run.start &+ run.count &* run.size)
            guard shift > 0, end <= body.count else { return }
            var place = Header.length
            while place < initialized, unsafe base[place] != 0 { place &+= 1 &+ Int(unsafe base[place]) }
            // Behind the root label: type and class.
            place &+= 5
            let middle = start &+ shift &* run.size
            guard place &+ end <= initialized else { return }
            let records = unsafe reply + place
            unsafe body.withUnsafeBytes { bytes in
                guard let from = bytes.baseAddress else { return }
                unsafe (records + start).copyMemory(from: from + middle, byteCount: end &- middle)
                let second = start &+ (end &- middle)
                unsafe (records + second).copyMemory(from: from + start, byteCount: middle &- start)
            }
            // Behind owner, type and class.
            for number in 0..<run.count { unsafe records.age(start &+ number &* run.size &+ 6, aging) }
        }
    }
}

extension UnsafeMutableRawPointer {
    /// Changes the TTL at an offset, which the caller has checked.
    @unsafe
    @inline(__always)
    fileprivate func age(_ offset: Int, _ aging: Reply.Aging) {
        let stored = unsafe UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        unsafe storeBytes(of: aging.ttl(stored).bigEndian, toByteOffset: offset, as: UInt32.self)
    }

    /// Copies `count` bytes, which must be 16 or more, from elsewhere in memory; nothing if they are fewer.
    @unsafe
    @inline(__always)
    fileprivate func copyBlocks(_ from: UnsafeRawPointer, count: Int) {
        guard count >= 16 else { return }
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
