import Foundation
import Glibc

/// A directory that is removed, with its contents, when the last reference is released.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        path = NSTemporaryDirectory() + "/httpdnsd-tests-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        // Programs that drop their privileges must be able to read here.
        chmod(path, 0o755)
    }

    deinit { remove() }

    /// Removes it before the last reference is released. For directories that are retained until the process ends.
    package func remove() { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file.
    ///
    /// - Returns: its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let file = path + "/" + name
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// The text of a file; empty if it does not exist.
    package func read(_ name: String) -> String {
        (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) ?? ""
    }
}
