/// A string of the file after its variables were put in.
struct WrittenText {
    /// With the variables' values.
    let value: String
    /// For messages: the text as the file has it, so that nothing from the environment is ever shown.
    let written: String
}

extension WrittenText {
    /// Whether the text is one variable and nothing else.
    static func isVariable(_ written: String) -> Bool {
        written.hasPrefix("${") && written.firstIndex(of: "}") == written.indices.last
    }

    /// Replaces `${VARIABLE}` and `${VARIABLE:-default}` (the default also when the variable is empty); `$${` stands
    /// for `${`, and a `$` before anything else for itself.
    init(_ written: String, environment: [String: String]) throws(ValueProblem) {
        var value = ""
        for piece in try Self.pieces(of: written) {
            switch piece {
            case .text(let text): value += text
            case .variable(let name, let fallback):
                let found = environment[name]
                if let fallback {
                    value += found.flatMap { $0.isEmpty ? nil : $0 } ?? fallback
                } else if let found {
                    value += found
                } else {
                    throw ValueProblem(
                        "needs the environment variable \(name), which is not set; set it (for the service in \(Variables.packagedFile), then `systemctl restart httpdnsd`), or write ${\(name):-default}",
                        isOfTheStart: true)
                }
            }
        }
        self.value = value
        self.written = written
    }

    /// The names of the variables in a text; none in one that cannot be read.
    static func variables(in written: String) -> [String] {
        let pieces = (try? Self.pieces(of: written)) ?? []
        return pieces.compactMap { if case .variable(let name, _) = $0 { name } else { nil } }
    }

    private enum Piece {
        case text(String)
        case variable(String, fallback: String?)
    }

    private static func pieces(of written: String) throws(ValueProblem) -> [Piece] {
        var pieces: [Piece] = []
        var rest = Substring(written)
        while let dollar = rest.firstIndex(of: "$") {
            pieces.append(.text(String(rest[..<dollar])))
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                pieces.append(.text("${"))
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let close = rest.firstIndex(of: "}") else {
                    throw ValueProblem("has a ${ without its }; write $${ for the characters themselves")
                }
                pieces.append(try variable(rest[..<close].dropFirst(2)))
                rest = rest[close...].dropFirst()
            } else {
                pieces.append(.text("$"))
                rest = rest.dropFirst()
            }
        }
        return pieces + [.text(String(rest))]
    }

    private static func variable(_ text: Substring) throws(ValueProblem) -> Piece {
        let mark = text.firstRange(of: ":-")
        let name = text[..<(mark?.lowerBound ?? text.endIndex)]
        guard let first = name.utf8.first, !(0x30...0x39).contains(first), Variables.isName(name) else {
            throw ValueProblem(
                "has something else than a variable's name in ${ }; write $${ for the characters themselves")
        }
        return .variable(String(name), fallback: mark.map { String(text[$0.upperBound...]) })
    }
}
