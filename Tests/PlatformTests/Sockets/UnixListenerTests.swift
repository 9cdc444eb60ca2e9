import Glibc
import Platform
import TestSupport
import Testing

/// The socket for commands, and its file.
struct UnixListenerTests {
    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test func `its file is for its owner alone, whatever the mask is`() throws {
        let directory = try TemporaryDirectory()
        let listener = try UnixListener(directory.path + "/a.sock")
        #expect(mode(listener.path) == 0o600)
        listener.removeFile()
        #expect(mode(listener.path) == nil)
    }

    @Test func `a directory that is missing is made`() throws {
        let directory = try TemporaryDirectory()
        let listener = try UnixListener(directory.path + "/run/a.sock")
        #expect(mode(listener.path) == 0o600)
        #expect(mode(directory.path + "/run") == 0o755)
    }

    @Test func `two directories that are missing are an error`() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: SystemError.self) { try UnixListener(directory.path + "/no/run/a.sock") }
    }

    @Test func `the file of a process that is gone is replaced`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/a.sock"
        var dead: UnixListener? = try UnixListener(path)
        _ = dead
        dead = nil
        try #require(mode(path) != nil)
        let listener = try UnixListener(path)
        #expect(mode(listener.path) == 0o600)
    }

    @Test func `a living listener is not touched, and the error says so`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/a.sock"
        let living = try UnixListener(path)
        #expect { try UnixListener(path) } throws: { error in
            (error as? SystemError)?.code == EADDRINUSE && "\(error)".contains("another httpdnsd")
        }
        #expect(mode(path) != nil)
        withExtendedLifetime(living) {}
    }

    @Test func `a file that is no socket is not touched`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("precious", to: "a.sock")
        #expect { try UnixListener(path) } throws: { ($0 as? SystemError)?.code == EEXIST }
        #expect(directory.read("a.sock") == "precious")
    }

    @Test func `the file of a later listener is not removed`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/a.sock"
        let first = try UnixListener(path)
        _ = first.takeDescriptor()
        // A process that another test starts has the first one's descriptor until it runs its program.
        let second = try UnixListener(path, replaces: true)
        first.removeFile()
        #expect(mode(path) != nil)
        second.removeFile()
        #expect(mode(path) == nil)
    }

    @Test func `a group that the process is a member of gets the file, with the mode for it`() throws {
        let directory = try TemporaryDirectory()
        let name = String(cString: try #require(getgrgid(getegid())).pointee.gr_name)
        let listener = try UnixListener(directory.path + "/a.sock", group: name, mode: 0o660)
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
        let directory = try TemporaryDirectory()
        let path = directory.path + "/a.sock"
        let listener = try UnixListener(path)
        listener.removeFile()
        #expect(access(path, F_OK) != 0)
        // A socket that nothing listens on yet.
        let next = try NotifySocket(path)
        listener.removeFile()
        #expect(access(path, F_OK) == 0)
        _ = next
    }

    @Test func `a process that has left its work may still listen where the next one does`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/a.sock"
        let old = try UnixListener(path, keepsMessages: true)
        #expect(throws: SystemError.self) { try UnixListener(path) }
        let next = try UnixListener(path, keepsMessages: true, replaces: true)
        old.removeFile()
        #expect(access(path, F_OK) == 0)
        #expect(throws: Never.self) { _ = try Descriptor.connected(toUnixSocket: path, keepsMessages: true) }
        #expect(next.acceptLast() != nil && old.acceptLast() == nil)
    }

    @Test func `what one process passes reaches the one that has connected last`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/a.sock"
        let listener = try UnixListener(path, keepsMessages: true)
        #expect(listener.acceptLast() == nil)
        let first = NoticeSocket(try .connected(toUnixSocket: path, keepsMessages: true))
        let second = NoticeSocket(try .connected(toUnixSocket: path, keepsMessages: true))
        do {
            let manager = try #require(listener.acceptLast())
            let file = try PassedDescriptor([1], name: "file")
            try manager.store([file.number].compactMap(\.self), as: "file")
        }
        let notice = try #require(second.receive(within: .patience))
        #expect(notice.lines == ["FDSTORE=1", "FDNAME=file"])
        #expect(notice.descriptors.map { $0.contents(limit: 1) } == [[1]])
        #expect(second.receive(within: .patience) == nil && second.hasEnded && first.hasEnded)
    }
}
