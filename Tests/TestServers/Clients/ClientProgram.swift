import Foundation
import Synchronization
import TestSupport

/// The programs of `Tests/Clients`.
package enum ClientProgram {
    private static let programs = Mutex<[String: String]>([:])

    /// Removed when the process exits.
    private static let directory: Result<TemporaryDirectory, TestFailure> = .init { () throws(TestFailure) in
        do {
            let directory = try TemporaryDirectory()
            atexit { try? ClientProgram.directory.get().remove() }
            return directory
        } catch {
            throw TestFailure("\(error)")
        }
    }

    /// The path of a source.
    package static func source(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Clients/" + name).standardized.path
    }

    /// The path of what is compiled from a source, once in this process.
    ///
    /// - Parameter command: the command that writes it to the path given.
    package static func compiled(_ name: String, _ command: (String) -> [String]) throws -> String {
        try programs.withLock { programs in
            if let program = programs[name] { return program }
            let program = try directory.get().path + "/" + name
            // A compiler may have to compile its library first, while others use the processors.
            try ChildProcess.succeed(command(program), within: .patience * 10)
            programs[name] = program
            return program
        }
    }
}
