import Foundation

/// The C libraries with which programs look names up; `Tests/Clients/getaddrinfo.c` is compiled with each of them.
package enum CLibrary: String, CaseIterable, Sendable {
    case glibc
    case musl

    /// Path of the program, compiled once.
    package func lookup() throws -> String { try Self.programs[self, default: .failure(.init("none"))].get() }

    /// Removed when the process exits.
    private static let directory: Result<TemporaryDirectory, TestFailure> = .init { () throws(TestFailure) in
        do {
            let directory = try TemporaryDirectory()
            atexit { try? CLibrary.directory.get().remove() }
            return directory
        } catch {
            throw TestFailure("\(error)")
        }
    }

    private static let programs = Dictionary(
        uniqueKeysWithValues: allCases.map { library in
            (library, Result { () throws(TestFailure) in try library.compile() })
        })

    private func compile() throws(TestFailure) -> String {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Clients/getaddrinfo.c").standardized.path
        let program = try Self.directory.get().path + "/getaddrinfo-" + rawValue
        do {
            try ChildProcess.succeed(
                [self == .musl ? "musl-gcc" : "gcc", "-std=c99", "-D_GNU_SOURCE", "-Wall", "-Werror", "-O1"]
                    + ["-o", program, source] + (self == .musl ? ["-static"] : []))
        } catch {
            throw TestFailure("\(error)")
        }
        return program
    }
}
