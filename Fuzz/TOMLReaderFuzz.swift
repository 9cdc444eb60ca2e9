// Any bytes as a configuration file: the reader refuses them at a place in the text, or reads them, and reads the same again
// from what was written of it in another form.

@testable import Configuration

func fuzzTOMLReader(_ bytes: [UInt8]) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    do throws(SyntaxProblem) {
        let root = try TOMLReader.read(bytes)
        let text = pairs(of: root)
        do throws(SyntaxProblem) {
            let again = try TOMLReader.read(Array(text.utf8))
            precondition(pairs(of: again) == text, "what was written reads otherwise")
        } catch {
            // Brackets and braces in place of headers are one level more each.
            precondition(error.message.hasSuffix("nested too deep"), "what was written is refused: \(error)")
        }
        precondition(hasLines(root, lines.count), "a line outside the text")
    } catch {
        precondition(lines.indices.contains(error.line - 1), "a problem outside the text")
        precondition((1...lines[error.line - 1].count + 1).contains(error.column), "a problem outside its line")
    }
}

private func hasLines(_ node: TOMLNode, _ count: Int) -> Bool {
    switch node.value {
    case .table(let table): table.pairs.allSatisfy { hasLines($0.node, count) } && (1...count).contains(node.line)
    case .array(let nodes): nodes.allSatisfy { hasLines($0, count) } && (1...count).contains(node.line)
    default: (1...count).contains(node.line)
    }
}

/// The pairs of a document, each on its line, without headers.
private func pairs(of root: TOMLNode) -> String { leaves(of: root).joined(separator: "\n") }

/// What a table holds, with dotted keys for the tables inside.
private func leaves(of node: TOMLNode, _ prefix: String = "") -> [String] {
    guard case .table(let table) = node.value else { return [] }
    return table.pairs.flatMap { pair in
        let key = prefix + quoted(pair.key)
        if case .table(let inner) = pair.node.value, !inner.pairs.isEmpty { return leaves(of: pair.node, key + ".") }
        return [key + " = " + value(pair.node)]
    }
}

private func value(_ node: TOMLNode) -> String {
    switch node.value {
    case .string(let text), .variable(let text, _): quoted(text)
    case .integer(let number): String(number)
    case .float(let number): String(number)
    case .boolean(let boolean): String(boolean)
    case .date(let text): text
    case .array(let nodes): "[" + nodes.map(value).joined(separator: ", ") + "]"
    case .table: "{" + leaves(of: node).joined(separator: ", ") + "}"
    }
}

/// Every character as an escape sequence.
private func quoted(_ text: String) -> String {
    let escapes = text.unicodeScalars.map { scalar in
        let digits = String(scalar.value, radix: 16)
        return "\\U" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
    return "\"" + escapes.joined() + "\""
}
