import Glibc
import Testing

@testable import Platform

@Suite struct JournalStreamTests {
    private func identity(of descriptor: Int32) -> (device: UInt64, inode: UInt64) {
        var status = stat()
        fstat(descriptor, &status)
        return (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    @Test func `the journal reads the stream that the variable names`() throws {
        var pipes: [Int32] = [0, 0]
        try #require(pipe(&pipes) == 0)
        defer { for end in pipes { close(end) } }
        let (device, inode) = identity(of: pipes[1])
        #expect(isJournal(pipes[1], "\(device):\(inode)"))
        for other in [
            nil, "", ":", "\(device)", "\(device):\(inode + 1)", "\(device + 1):\(inode)", "\(device):\(inode):", "x:y",
        ] {
            #expect(!isJournal(pipes[1], other), "\(other ?? "nil")")
        }
        #expect(!isJournal(-1, "\(device):\(inode)"))
    }
}
