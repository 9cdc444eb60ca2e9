import Glibc
import TestSupport
import Testing

@testable import Platform

/// Which folders belong to the system.
struct SystemFolderTests {
    @Test(arguments: [
        "/", "/run", "/run/", "/var/run", "/tmp", "/etc", "/etc/httpdnsd", "/etc/systemd/system", "/var/lib",
        "/var/lib/private", "/home/somebody", "/run/user/1000", "/root", "/usr/local/bin", "/dev/shm",
    ])
    func `where other programs find their files is the system's`(folder: String) {
        #expect(SystemFolder(folder) != nil)
    }

    @Test(arguments: [
        "/run/httpdnsd", "/var/lib/httpdnsd", "/var/lib/private/httpdnsd", "/run/user/1000/httpdnsd", "/data",
        "/home/somebody/httpdnsd", "/opt/httpdnsd", "/etcetera",
    ])
    func `a folder of its own is not`(folder: String) {
        #expect(SystemFolder(folder) == nil)
    }

    @Test func `a link to one is one`() throws {
        let directory = try TemporaryDirectory()
        #expect(SystemFolder(directory.path) == nil)
        let link = directory.path + "/link"
        #expect(symlink("/etc", link) == 0)
        #expect(SystemFolder(link)?.path == "/etc" && SystemFolder(of: link + "/a.sock")?.path == "/etc")
    }

    @Test func `everybody makes files in one that is sticky`() {
        #expect(SystemFolder("/tmp")?.isForAll == true && SystemFolder("/etc")?.isForAll == false)
        #expect(SystemFolder(of: "/a.sock")?.path == "/" && SystemFolder(of: "a.sock") == nil)
    }
}
