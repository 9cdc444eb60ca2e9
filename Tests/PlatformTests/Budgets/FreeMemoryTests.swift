import Glibc
import Platform
import Testing

@Suite struct FreeMemoryTests {
    /// Bytes of mapped files that are resident in this process.
    private func mappedFileBytes() throws -> Int {
        let file = try #require(fopen("/proc/self/statm", "r"))
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 128)
        try #require(fgets(&text, Int32(text.count), file) != nil)
        let fields = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self).split(separator: " ")
        return try #require(Int(fields[2])) * Int(getpagesize())
    }

    @Test func `code that was used is released and still runs`() throws {
        let before = try mappedFileBytes()
        releaseFilePages()
        let after = try mappedFileBytes()
        #expect(after < before)
        #expect(after > 0)
    }
}
