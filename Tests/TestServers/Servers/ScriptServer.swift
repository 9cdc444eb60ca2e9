import Foundation
import TestSupport

/// A server of `Tests/Servers` on 127.0.0.1, with a folder of its own; killed when the last reference is released.
final class ScriptServer: Sendable {
    let port: UInt16
    let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - arguments: behind the folder, the certificate and its key.
    ///   - files: by name, what is in the folder at its start.
    init(
        _ name: String, _ leaf: TestCertificates.Leaf, _ arguments: [String] = [], files: [String: String] = [:]
    ) throws {
        directory = try TemporaryDirectory()
        for (file, text) in files { try directory.write(text, to: file) }
        process = try ChildProcess(
            ["python3", Self.path(of: name), directory.path, leaf.certificate, leaf.key] + arguments)
        let (directory, process) = (directory, process)
        _ = eventually { !process.isRunning || UInt16(directory.read("port")) != nil }
        guard let port = UInt16(directory.read("port")) else {
            throw TestFailure("\(name) did not start: \(process.errors)")
        }
        self.port = port
    }

    /// The path of a script of `Tests/Servers`.
    static func path(of name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Servers/\(name)")
            .standardized.path
    }

    /// The lines of a file in its folder.
    func lines(of file: String) -> [Substring] { directory.read(file).split(separator: "\n") }
}
