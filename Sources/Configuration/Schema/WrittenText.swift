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
        value = try Self.text(of: written) { name, fallback throws(ValueProblem) in
            if let found = environment[name], fallback == nil || !found.isEmpty { return found }
            if let fallback { return fallback }
            throw ValueProblem(
                "needs the environment variable \(name), which is not set; set it (for the service in \(Variables.packagedFile), then `systemctl restart httpdnsd`), or write ${\(name):-default}",
                isOfTheStart: true)
        }
        self.written = written
    }

    /// The names of the variables in a text; none in one that cannot be read.
    static func variables(in written: String) -> [String] {
        var names: [String] = []
        let text = try? text(of: written) { name, _ in
            names.append(name)
            return ""
        }
        return text == nil ? [] : names
    }

    /// A text in which the value of each variable stands for it.
    ///
    /// - Parameter value: of a name, with what is written as its default.
    private static func text(
        of written: String, _ value: (String, _ fallback: String?) throws(ValueProblem) -> String
    ) throws(ValueProblem) -> String {
        var text = ""
        var rest = Substring(written)
        while let dollar = rest.firstIndex(of: "$") {
            text += rest[..<dollar]
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                text += "${"
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let close = rest.firstIndex(of: "}") else {
                    throw ValueProblem("has a ${ without its }; write $${ for the characters themselves")
                }
                let (name, fallback) = try variable(rest[..<close].dropFirst(2))
                text += try value(name, fallback)
                rest = rest[close...].dropFirst()
            } else {
                text += "$"
                rest = rest.dropFirst()
            }
        }
        return text + rest
    }

    private static func variable(_ text: Substring) throws(ValueProblem) -> (name: String, fallback: String?) {
        let mark = text.firstRange(of: ":-")
        let name = text[..<(mark?.lowerBound ?? text.endIndex)]
        guard let first = name.utf8.first, !(0x30...0x39).contains(first), Variables.isName(name) else {
            throw ValueProblem(
                "has something else than a variable's name in ${ }; write $${ for the characters themselves")
        }
        return (String(name), mark.map { String(text[$0.upperBound...]) })
    }
}
