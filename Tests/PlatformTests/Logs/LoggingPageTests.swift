import Foundation
import Logging
import Platform
import Testing

/// `Documentation/Logging.md` against the kinds of messages.
struct LoggingPageTests {
    @Test func `the page lists every kind with its level, and no other`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Documentation/Logging.md")
        let rows = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| `") }.map {
                $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        let kinds = rows.filter { $0.count == 3 }.map { [$0[0], $0[1]] }
        #expect(kinds == LogKind.allCases.map { ["`\($0.rawValue)`", $0.level.rawValue] })
    }
}
