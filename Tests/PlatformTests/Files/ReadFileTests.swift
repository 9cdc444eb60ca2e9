import Glibc
import Platform
import TestSupport
import Testing

@Suite struct ReadFileTests {
    @Test func `a file that never ends is cut at the limit`() throws {
        #expect(try readFile("/dev/zero", limit: 100_000) == Array(repeating: 0, count: 100_000))
    }

    @Test func `a short file is read to its end`() throws {
        #expect(try readFile("/dev/null", limit: 10).isEmpty)
        #expect(try readFile("/proc/self/comm", limit: 1_000).last == UInt8(ascii: "\n"))
    }

    @Test func `a file is read also by a process without a standard input`() async {
        await #expect(processExitsWith: .success) {
            close(STDIN_FILENO)
            guard try readFile("/proc/self/comm", limit: 1_000).last == UInt8(ascii: "\n") else { exit(1) }
        }
    }

    @Test(arguments: [("/nonexistent", ENOENT), ("/", EISDIR)] as [(String, Int32)])
    func `what cannot be read is an error`(path: String, code: Int32) {
        let error = #expect(throws: SystemError.self) { try readFile(path, limit: 10) }
        #expect(error?.code == code)
    }

    @Test func `a pipe is refused without waiting for a writer`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/fifo"
        try #require(mkfifo(path, 0o600) == 0)
        #expect(throws: SystemError(code: ESPIPE, operation: "read \(path)")) { try readFile(path, limit: 10) }
    }
}
