import Glibc

/// A collector of dnstap: `fstrm_capture`, whose file `dnstap-ldns` reads.
package final class DnstapCollector: Sendable {
    private let process: ChildProcess
    private let file: String

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - arguments: where, such as `-u` and a path.
    ///   - file: where it writes; there may be none yet.
    package init(_ arguments: String..., writing file: String) throws {
        self.file = file
        process = try ChildProcess(["fstrm_capture", "-t", "protobuf:dnstap.Dnstap", "-w", file] + arguments)
        guard process.waitForOutput(.patience, { $1.contains("opened output file") }) else {
            throw TestFailure("fstrm_capture does not start: \(process.errors)")
        }
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Ends it.
    ///
    /// - Parameter format: `-q` for a line for each message, `-y` for YAML.
    /// - Returns: what it has received.
    package func received(_ format: String) throws -> String {
        process.signal(SIGTERM)
        let outcome = try process.finish(within: .patience)
        guard outcome.status == 0 else { throw TestFailure("fstrm_capture: \(outcome.errors)") }
        return try ChildProcess.succeed(["dnstap-ldns", format, "-r", file])
    }

    /// Ends it.
    ///
    /// - Returns: the messages that it has received, such as `CQ 127.0.0.1 UDP "www.example.com." IN A`, sorted.
    package func messages() throws -> [String] {
        try received("-q").split(separator: "\n").map { line in
            // Without date, time and length.
            let words = line.split(separator: " ").dropFirst(2)
            return words.enumerated().filter { $0.offset != 3 }.map(\.element).joined(separator: " ")
        }.sorted()
    }
}
