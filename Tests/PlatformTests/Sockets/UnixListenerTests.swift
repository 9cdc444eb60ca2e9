import Glibc
import Platform
import TestSupport
import Testing

/// The socket for commands, and its file.
struct UnixListenerTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/a.sock"
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test func `its file is for its owner alone, whatever the mask is`() throws {
        let listener = try UnixListener(path)
        #expect(mode(listener.path) == 0o600)
        listener.removeFile()
        #expect(mode(listener.path) == nil)
    }

    @Test func `a directory that is missing is made`() throws {
        let listener = try UnixListener(directory.path + "/run/a.sock")
        #expect(mode(listener.path) == 0o600)
        #expect(mode(directory.path + "/run") == 0o755)
    }

    @Test func `two directories that are missing are an error`() throws {
        #expect(throws: SystemError.self) { try UnixListener(directory.path + "/no/run/a.sock") }
    }

    @Test func `the file of a process that is gone is replaced`() throws {
        var dead: UnixListener? = try UnixListener(path)
        _ = dead
        dead = nil
        try #require(mode(path) != nil)
        let listener = try UnixListener(path)
        #expect(mode(listener.path) == 0o600)
    }

    @Test func `a living listener is not touched, and the error says so`() throws {
        let living = try UnixListener(path)
        #expect { try UnixListener(path) } throws: { error in
            (error as? SystemError)?.code == EADDRINUSE && "\(error)".contains("another httpdnsd")
        }
        #expect(mode(path) != nil)
        withExtendedLifetime(living) {}
    }

    @Test func `a file that is no socket is not touched`() throws {
        try directory.write("precious", to: "a.sock")
        #expect { try UnixListener(path) } throws: { ($0 as? SystemError)?.code == EEXIST }
        #expect(directory.read("a.sock") == "precious")
    }

    @Test func `a group that the process is a member of gets the file, with the mode for it`() throws {
        let name = String(cString: try #require(getgrgid(getegid())).pointee.gr_name)
        let listener = try UnixListener(path, group: name, mode: 0o660)
        var status = stat()
        #expect(lstat(listener.path, &status) == 0 && status.st_gid == getegid())
        #expect(mode(listener.path) == 0o660)
    }

    @Test func `a group that the process is no member of is an error that says so, and leaves no file`() async {
        await #expect(processExitsWith: .success) {
            guard getuid() == 0 else { return }
            let directory = try TemporaryDirectory()
            let path = directory.path + "/a.sock"
            chmod(directory.path, 0o777)
            try Privileges.drop(to: "nobody")
            let error = #expect(throws: SystemError.self) { try UnixListener(path, group: "root") }
            guard error?.code == EPERM, error?.advice?.contains("no member of the group") == true,
                access(path, F_OK) != 0
            else { exit(1) }
        }
    }

    @Test func `a path that is too long is an error`() {
        #expect(throws: SystemError.self) {
            try UnixListener("/tmp/" + String(repeating: "x", count: 120))
        }
    }

    @Test func `a file that another process has made meanwhile stays, also before that one listens`() throws {
        let listener = try UnixListener(path)
        listener.removeFile()
        #expect(access(path, F_OK) != 0)
        // A socket that nothing listens on yet.
        let next = try NotifySocket(path)
        listener.removeFile()
        #expect(access(path, F_OK) == 0)
        _ = next
    }

    private func copy(of listener: UnixListener) throws -> PassedDescriptor {
        PassedDescriptor(Descriptor(owning: dup(try #require(listener.number))), name: "copy")
    }

    @Test func `a passed socket is taken with its file, which one process removes, and the clients that wait`() throws {
        let old = try UnixListener(path, keepsMessages: true)
        let client = NoticeSocket(try .connected(toUnixSocket: path, keepsMessages: true))
        let next = try UnixListener(path, mode: 0o660, keepsMessages: true, adopting: try copy(of: old))
        #expect(mode(path) == 0o660)
        next.removeFile()
        #expect(access(path, F_OK) == 0)
        next.takeFile()
        old.leaveFile()
        old.removeFile()
        #expect(access(path, F_OK) == 0)
        let accepted = try #require(try next.acceptNext())
        try accepted.send("A=1")
        #expect(client.receive(within: .patience)?.lines == ["A=1"])
        next.removeFile()
        #expect(access(path, F_OK) != 0)
    }

    @Test func `in the place of a passed socket whose file is gone another one is made`() throws {
        let old = try UnixListener(path)
        unlink(path)
        let next = try UnixListener(path, adopting: try copy(of: old))
        #expect(throws: Never.self) { _ = try Descriptor.connected(toUnixSocket: path) }
        next.removeFile()
        #expect(access(path, F_OK) != 0)
    }

    @Test func `processes that connect are accepted one after the other, and each end sends to the other`() throws {
        let listener = try UnixListener(path, keepsMessages: true)
        #expect(try listener.acceptNext() == nil)
        let first = NoticeSocket(try .connected(toUnixSocket: path, keepsMessages: true))
        let second = NoticeSocket(try .connected(toUnixSocket: path, keepsMessages: true))
        let accepted = try #require(try listener.acceptNext())
        let file = try PassedDescriptor([1], name: "file")
        try accepted.store([file.number].compactMap(\.self), as: "file")
        let notice = try #require(first.receive(within: .patience))
        #expect(notice.lines == ["FDSTORE=1", "FDNAME=file"] && notice.isWhole)
        #expect(notice.descriptors.map { $0.contents(limit: 1) } == [[1]])
        #expect(accepted.process == getpid())
        try first.send("A=1")
        accepted.endReceiving()
        #expect(throws: SystemError.self) { try first.send("A=2") }
        // What came before can be received, and something be said.
        #expect(accepted.receive(within: .patience)?.lines == ["A=1"] && accepted.next() == nil)
        try accepted.send("B=1")
        accepted.end()
        #expect(first.receive(within: .patience)?.lines == ["B=1"] && first.hasEnded && !second.hasEnded)
    }
}
