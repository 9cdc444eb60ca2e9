import Foundation

/// The files of an archive, in a directory that is removed when the last reference is released.
package final class UnpackedArchive: Sendable {
    /// The directory's.
    package let path: String

    /// - Parameter archive: its path from the folder above that of the test's file.
    package init(_ archive: String, file: String = #filePath) throws {
        path = NSTemporaryDirectory() + "/httpdnsd-tests-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let archive = URL(filePath: file).deletingLastPathComponent().appending(path: "../\(archive)").path
        let tar = try Process.run(URL(filePath: "/usr/bin/env"), arguments: ["tar", "-xf", archive, "-C", path])
        tar.waitUntilExit()
        guard tar.terminationStatus == 0 else { throw TestFailure("tar does not unpack \(archive)") }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The bytes of one of its files.
    package func bytes(of name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
    }
}
