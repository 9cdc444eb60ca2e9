@testable import Configuration
import Foundation
import TestSupport
import Testing

/// The TOML reader against the cases of toml-test for TOML 1.0.
struct TOMLSuiteTests {
    private let suite: UnpackedArchive

    init() throws { suite = try UnpackedArchive("toml-test/tests.tar.xz") }

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: suite.path)
            .filter { $0.hasPrefix(folder + "/") && $0.hasSuffix(".toml") }
    }

    @Test func `every valid text has the values that it should have`() throws {
        let names = try names("valid")
        #expect(names.count == 210)
        for name in names {
            let json = try suite.bytes(of: name.dropLast(5) + ".json")
            let expected = try JSONSerialization.jsonObject(with: Data(json))
            let node = try? TOMLReader.read(try suite.bytes(of: name))
            #expect(node.map { Self.isEqual($0, expected) } == true, "\(name)")
        }
    }

    @Test func `every text that is not TOML is refused at a place in it`() throws {
        let names = try names("invalid")
        #expect(names.count == 499)
        for name in names {
            let bytes = try suite.bytes(of: name)
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let problem = #expect(throws: SyntaxProblem.self, "\(name)") { try TOMLReader.read(bytes) }
            guard let problem else { continue }
            #expect((1...lines.count).contains(problem.line), "\(name)")
            #expect((1...lines[problem.line - 1].count + 1).contains(problem.column), "\(name)")
        }
    }

    /// - Parameter expected: as toml-test writes it: an object of two strings, `type` and `value`, for what is no list or table.
    private static func isEqual(_ node: TOMLNode, _ expected: Any) -> Bool {
        switch (node.value, expected) {
        case (.table(let table), let object as [String: Any]):
            return table.pairs.count == object.count
                && table.pairs.allSatisfy { pair in object[pair.key].map { isEqual(pair.node, $0) } == true }
        case (.array(let nodes), let list as [Any]):
            return nodes.count == list.count && zip(nodes, list).allSatisfy { isEqual($0, $1) }
        case (_, let scalar as [String: String]):
            return isEqual(node.value, scalar["type"] ?? "", scalar["value"] ?? "")
        default: return false
        }
    }

    private static func isEqual(_ value: TOMLNode.Value, _ type: String, _ text: String) -> Bool {
        switch value {
        case .string(let string): type == "string" && string.utf8.elementsEqual(text.utf8)
        case .integer(let integer): type == "integer" && String(integer) == text
        case .float(let float): type == "float" && (float.isNaN ? text == "nan" : float == Double(text))
        case .boolean(let boolean): type == "bool" && String(boolean) == text
        case .date(let date):
            ["datetime", "datetime-local", "date-local", "time-local"].contains(type)
                && date.uppercased().replacing(" ", with: "T").replacing(/(\.\d*?)0+(?!\d)/) { $0.1 }
                    == text.replacing(/(\.\d*?)0+(?!\d)/) { $0.1 }
        case .array, .table, .variable: false
        }
    }
}
