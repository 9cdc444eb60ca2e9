import Glibc
import TestSupport

/// A collector of dnstap: `fstrm_capture`, whose file `dnstap-ldns` reads.
package final class DnstapCollector: Sendable {
    private let process: ChildProcess
    private let file: String
    /// What `ss` shows of its sockets.
    private let sockets: [String]

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - arguments: where: `-u` and a path, or `-a`, an address, `-p` and a port.
    ///   - file: where it writes; there may be none yet.
    package init(_ arguments: String..., writing file: String) throws {
        self.file = file
        sockets =
            arguments.first == "-u"
            ? ["-x", "src", arguments.last ?? ""] : ["-t", "sport", "=", ":" + (arguments.last ?? "")]
        process = try ChildProcess(
            server: ["fstrm_capture", "-t", "protobuf:dnstap.Dnstap", "-w", file] + arguments,
            until: "opened output file")
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Waits until nothing is left in its sockets: at the signal it ends without reading on.
    private func waitUntilRead() throws {
        let isRead = try eventually {
            let lines = try ChildProcess.succeed(["ss", "-H", "-a", "-n"] + sockets).split(separator: "\n")
            let unread = lines.compactMap { line -> Int? in
                let words = line.split(separator: " ")
                guard !words.contains("LISTEN") else { return nil }
                // The first number is that of the bytes to be read.
                return words.lazy.compactMap { Int($0) }.first
            }
            return unread.allSatisfy { $0 == 0 }
        }
        guard isRead else { throw TestFailure("fstrm_capture reads nothing") }
    }

    /// Ends it.
    ///
    /// - Returns: the messages that it has received, such as `CQ 127.0.0.1 UDP "www.example.com." IN A`, sorted.
    package func messages() throws -> [String] {
        try waitUntilRead()
        process.signal(SIGTERM)
        let outcome = try process.finish(within: .patience)
        guard outcome.status == 0 else { throw TestFailure("fstrm_capture: \(outcome.errors)") }
        return try ChildProcess.succeed(["dnstap-ldns", "-q", "-r", file]).split(separator: "\n").map { line in
            // Without date, time and length.
            let words = line.split(separator: " ").dropFirst(2)
            return words.enumerated().filter { $0.offset != 3 }.map(\.element).joined(separator: " ")
        }.sorted()
    }
}
