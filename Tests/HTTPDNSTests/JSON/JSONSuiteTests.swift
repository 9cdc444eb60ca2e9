import Foundation
import HTTPDNS
import TestSupport
import Testing

/// The JSON reader against the files of JSONTestSuite.
struct JSONSuiteTests {
    private let suite: UnpackedArchive

    init() throws { suite = try UnpackedArchive("JSONTestSuite/test_parsing.tar.xz") }

    private func names(_ prefix: String) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: suite.path).filter { $0.hasPrefix(prefix) })
    }

    private func isRead(_ name: String) throws -> Bool {
        let bytes = try suite.bytes(of: name)
        return (try? JSONReader.read(bytes)) != nil
    }

    @Test func `every text that is JSON is read`() throws {
        let names = try names("y_")
        #expect(names.count == 95)
        #expect(try names.filter { try !isRead($0) } == [])
    }

    @Test func `every text that is not JSON is refused`() throws {
        let names = try names("n_")
        #expect(names.count == 186)
        #expect(try names.filter(isRead) == [])
    }

    /// Numbers of any size become the nearest integer. The other texts are not Unicode (RFC 8259 section 8), begin with
    /// a BOM, or are nested deeper than `JSONNode.maximumDepth`.
    @Test func `of the texts that a reader may refuse the numbers are read, and no others`() throws {
        let names = try names("i_")
        #expect(names.count == 35)
        #expect(try names.filter(isRead) == names.filter { $0.hasPrefix("i_number_") })
    }
}
