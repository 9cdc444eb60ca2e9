import Glibc
import Platform
import TestSupport
import Testing

@Suite struct WriteFileTests {
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
