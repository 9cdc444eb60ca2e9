import TestSupport

/// A library of C functions that take the place of the C library's, in processes that are started with its environment.
final class Preloaded: Sendable {
    let directory: TemporaryDirectory

    /// Compiles it.
    init(_ source: String) throws {
        directory = try TemporaryDirectory()
        let file = try directory.write(source, to: "library.c")
        try ChildProcess.succeed(["gcc", "-shared", "-fPIC", "-O1", "-o", directory.path + "/library.so", file])
    }

    /// The environment to start a process with.
    var environment: [String: String] { ["LD_PRELOAD": directory.path + "/library.so"] }
}
