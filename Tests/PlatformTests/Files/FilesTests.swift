import Glibc
import TestSupport
import Testing

@testable import Platform

struct ReadFileTests {
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

struct WriteFileTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `a new file has its bytes, and its mode whatever the umask is`() throws {
        let path = directory.path + "/a"
        try createFile(path, [1, 2, 3], mode: 0o640)
        #expect(try readFile(path, limit: 9) == [1, 2, 3])
        #expect(mode(path) == 0o640)
    }

    @Test func `what is there already is not overwritten, nor followed`() throws {
        let (path, link) = (directory.path + "/a", directory.path + "/link")
        try createFile(path, [1], mode: 0o600)
        #expect(symlink(path, link) == 0)
        for taken in [path, link] {
            let error = #expect(throws: SystemError.self) { try createFile(taken, [2], mode: 0o600) }
            #expect(error?.code == EEXIST)
        }
        #expect(try readFile(path, limit: 9) == [1])
    }

    @Test func `a file takes the place of another, whatever an earlier attempt has left`() throws {
        let path = directory.path + "/a"
        _ = try directory.write("rest", to: "a.new")
        for bytes in [[UInt8(1)], [2, 3]] {
            try replaceFile(path, bytes, mode: 0o600)
            #expect(try readFile(path, limit: 9) == bytes)
        }
        #expect(access(path + ".new", F_OK) != 0)
    }

    @Test func `an operator's file is made, or replaced behind its link, and a pipe gets the bytes`() throws {
        let (path, link) = (directory.path + "/a", directory.path + "/link")
        #expect(symlink(path, link) == 0)
        for (name, bytes) in [(path, [1]), (link, [2]), (path, [3, 4])] as [(String, [UInt8])] {
            try writeOutput(name, bytes, mode: 0o600)
            #expect(try readFile(path, limit: 9) == bytes)
        }
        var status = stat()
        #expect(lstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        let pipe = directory.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = Descriptor(owning: open(pipe, O_RDONLY | O_NONBLOCK))
        try writeOutput(pipe, [5], mode: 0o600)
        var byte: UInt8 = 0
        #expect(read(reader.number, &byte, 1) == 1 && byte == 5)
    }

    @Test func `a file is made, and a device written to, also by a process without a standard input`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            close(STDIN_FILENO)
            try createFile(directory.path + "/a", [1], mode: 0o600)
            try writeOutput("/dev/null", [1], mode: 0o600)
            guard try readFile(directory.path + "/a", limit: 9) == [1] else { exit(1) }
        }
    }

    @Test func `a folder that is not there is an error that names the file`() {
        let error = #expect(throws: SystemError.self) { try replaceFile("/nowhere/a", [1], mode: 0o600) }
        #expect(error?.description == "make /nowhere/a.new: No such file or directory")
    }
}

/// What every user may do with a file.
struct PublicAccessTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        #expect(chmod(directory.path, 0o755) == 0)
        path = try directory.write("secret", to: "file")
    }

    @Test(
        arguments: [
            (0o600, false, false), (0o640, false, false), (0o660, false, false), (0o644, true, false),
            (0o602, false, true),
            (0o666, true, true),
        ] as [(mode_t, Bool, Bool)])
    func `the mode of the file says it`(mode: mode_t, reads: Bool, writes: Bool) throws {
        #expect(chmod(path, mode) == 0)
        let access = try #require(PublicAccess(of: path))
        #expect(access.reads == reads && access.writes == writes)
        let link = directory.path + "/link"
        #expect(symlink("file", link) == 0 && PublicAccess(of: link) == access)
    }

    @Test func `nobody reaches a file in a folder that is closed`() throws {
        #expect(chmod(path, 0o666) == 0 && chmod(directory.path, 0o750) == 0)
        let access = try #require(PublicAccess(of: path))
        #expect(!access.reads && !access.writes)
    }

    @Test func `in a folder that everybody writes a file is replaced, unless it is sticky`() throws {
        #expect(chmod(path, 0o600) == 0 && chmod(directory.path, 0o777) == 0)
        #expect(try #require(PublicAccess(of: path)).writes)
        #expect(chmod(directory.path, 0o1777) == 0)
        #expect(try !#require(PublicAccess(of: path)).writes)
    }

    @Test func `of no file nothing is said`() { #expect(PublicAccess(of: directory.path + "/none") == nil) }
}
