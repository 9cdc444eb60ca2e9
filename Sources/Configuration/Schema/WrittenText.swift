/// A string of the file after its variables were put in.
struct WrittenText {
    /// With the variables' values.
    let value: String
    /// For messages: the text as the file has it, so that nothing from the environment is ever shown.
    let written: String

    init(value: String, written: String) {
        self.value = value
        self.written = written
    }

    /// Whether the text is one variable and nothing else.
    static func isVariable(_ written: String) -> Bool {
        written.hasPrefix("${") && written.firstIndex(of: "}") == written.indices.last
    }

    /// Replaces `${VARIABLE}` and `${VARIABLE:-default}` (the default also when the variable is empty); `$${` stands
    /// for `${`, and a `$` before anything else for itself.
    init(_ written: String, environment: [String: String]) throws(ValueProblem) {
        var value = ""
        var rest = Substring(written)
        while let dollar = rest.firstIndex(of: "$") {
            value += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                value += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let close = rest.firstIndex(of: "}") else {
                    throw ValueProblem("has a ${ without its }; write $${ for the characters themselves")
                }
                value += try Self.variable(rest[..<close].dropFirst(2), environment)
                rest = rest[close...].dropFirst()
            } else {
                value += "$"
                rest = rest.dropFirst()
            }
        }
        self.value = value + rest
        self.written = written
    }

    private static func variable(
        _ text: Substring, _ environment: [String: String]
    ) throws(ValueProblem) -> String {
        let mark = text.firstRange(of: ":-")
        let name = text[..<(mark?.lowerBound ?? text.endIndex)]
        guard let first = name.utf8.first, !(0x30...0x39).contains(first),
            name.utf8.allSatisfy({ isBareKeyByte($0) && $0 != UInt8(ascii: "-") })
        else {
            throw ValueProblem(
                "has something else than a variable's name in ${ }; write $${ for the characters themselves")
        }
        let found = environment[String(name)]
        if let mark { return found.flatMap { $0.isEmpty ? nil : $0 } ?? String(text[mark.upperBound...]) }
        guard let found else {
            throw ValueProblem(
                "needs the environment variable \(name), which is not set; set it or write ${\(name):-default}")
        }
        return found
    }
}
