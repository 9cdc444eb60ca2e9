import Glibc
import TestSupport
import Testing

@testable import Platform

/// What every user may do with a file.
@Suite struct PublicAccessTests {
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
