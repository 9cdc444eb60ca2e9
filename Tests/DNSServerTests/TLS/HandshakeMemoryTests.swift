import CSystem.Linux
import Testing

/// The memory of handshakes that are not done. It is the process's own: each test counts what it adds.
@Suite(.serialized, .enabled(if: clinux_handshakes_prepare(64), "under the address sanitizer all is malloc's"))
struct HandshakeMemoryTests {
    private static let page = 4_096

    private func allocate(_ size: Int) throws -> UnsafeMutableRawPointer {
        try #require(clinux_handshakes_malloc(size, nil, 0))
    }

    private func release(_ block: UnsafeMutableRawPointer?) { clinux_handshakes_free(block, nil, 0) }

    /// The most pages that stay for the next handshakes.
    private static let warm = Int(CLINUX_HANDSHAKES_WARM) * 6

    @Test(arguments: [4_096, 21_848])
    func `blocks take memory for the pages that are touched, and most of it goes back to the system`(size: Int) throws {
        let blocks = try (0..<100).map { _ in try allocate(size) }
        #expect(clinux_handshakes_resident() <= Self.warm * Self.page)
        for block in blocks.suffix(52) { block.storeBytes(of: 1, as: UInt8.self) }
        let before = clinux_handshakes_resident()
        for block in blocks.suffix(52) { block.storeBytes(of: 2, as: UInt8.self) }
        #expect(clinux_handshakes_resident() == before)
        #expect(before >= 52 * Self.page)
        blocks.forEach(release)
        #expect(clinux_handshakes_resident() <= Self.warm * Self.page)
    }

    @Test func `the next handshakes have the pages of those before`() throws {
        let first = try (0..<Int(CLINUX_HANDSHAKES_WARM)).map { _ in try allocate(21_848) }
        for block in first { block.initializeMemory(as: UInt8.self, repeating: 1, count: 21_848) }
        let touched = clinux_handshakes_resident()
        first.forEach(release)
        #expect(clinux_handshakes_resident() == touched)
        let second = try first.map { _ in try allocate(21_848) }
        #expect(Set(first) == Set(second))
        second.forEach(release)
    }

    @Test func `blocks of other sizes, and more blocks than there is room for, are malloc's`() throws {
        let others = try [1, 4_095, 4_097, 16_720, 21_847, 21_849].map { try allocate($0) }
        let before = clinux_handshakes_resident()
        for block in others { block.storeBytes(of: 1, as: UInt8.self) }
        #expect(clinux_handshakes_resident() == before)
        let blocks = try (0..<300).map { _ in try allocate(4_096) }
        for (index, block) in blocks.enumerated() { block.storeBytes(of: index, as: Int.self) }
        #expect(blocks.enumerated().allSatisfy { $1.load(as: Int.self) == $0 })
        #expect(clinux_handshakes_resident() <= (Self.warm + 192) * Self.page)
        (others + blocks).forEach(release)
    }

    @Test(arguments: [100, 4_096, 21_848], [4_096, 21_848, 100_000])
    func `a block that changes its size has its bytes still`(size: Int, other: Int) throws {
        let block = try allocate(size)
        let bytes = (0..<min(size, other)).map { UInt8(truncatingIfNeeded: $0) }
        block.copyMemory(from: bytes, byteCount: bytes.count)
        let changed = try #require(clinux_handshakes_realloc(block, other, nil, 0))
        #expect(Array(UnsafeRawBufferPointer(start: changed, count: bytes.count)) == bytes)
        release(changed)
    }

    @Test func `no bytes are no block, as OpenSSL has it`() throws {
        #expect(clinux_handshakes_malloc(0, nil, 0) == nil)
        for size in [100, 4_096] { #expect(clinux_handshakes_realloc(try allocate(size), 0, nil, 0) == nil) }
        let block = clinux_handshakes_realloc(nil, 4_096, nil, 0)
        #expect(block != nil)
        release(block)
        release(nil)
    }
}
