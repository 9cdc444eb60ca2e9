import DNSWire

/// Reads the name of a host or a suffix as people write them.
///
/// What could never match a name is an error: a list of such entries would protect nothing, and say nothing. Many people have
/// lists in the syntax of another product; where it is plain what they mean, the error says how to write it here.
enum HostName {
    /// Marks before and behind a name that mean a suffix, or a name, in other products' lists.
    private static let prefixes = [
        "https://", "http://", "@@||", "||", "*.", "+.", ".", "|", "domain:", "full:", "domain-suffix,", "domain,",
        "server=/", "address=/", "local=/",
    ]
    private static let suffixes: [Character] = ["^", "/", "|", "."]

    /// The name, lower-cased; of the root, `.`.
    static func parse(_ text: String) throws(ValueProblem) -> Name {
        guard !text.isEmpty else { throw ValueProblem("is not a name") }
        if let invisible = text.unicodeScalars.first(where: isInvisible) {
            throw ValueProblem("is not a name: it holds the character \(number(of: invisible)), which cannot be seen")
        }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw ValueProblem("must be written in punycode (xn--...): only ASCII is allowed")
        }
        // A dot behind it leaves it an address, which the name is written as.
        let bare = text.last == "." ? String(text.dropLast()) : text
        guard IPAddress(bare) == nil, AddressPrefix(text) == nil else {
            throw ValueProblem("is not a name, but an address or a network")
        }
        if let foreign = text.first(where: { !isOfHosts($0) }) {
            throw ValueProblem("is not a name: no host's has a \(quoted(String(foreign)))\(advice(on: text))")
        }
        do throws(NameError) {
            return try Name(text).lowercased
        } catch {
            throw ValueProblem("is not a name: \(error)\(advice(on: text))")
        }
    }

    /// What to write instead, as the end of a sentence; empty where that is not plain.
    private static func advice(on text: String) -> String {
        if text == "*" { return "; write \".\" for every name" }
        if text.hasPrefix("geosite:") || text.hasPrefix("regexp:") || text.hasPrefix("/") || text.hasPrefix("file:") {
            return "; only suffixes are known, such as \"example.com\""
        }
        if text.hasPrefix("\"") || text.hasPrefix("'") { return "; write it without quotes of its own" }
        var meant = Substring(text.lowercased())
        while let prefix = prefixes.first(where: { meant.hasPrefix($0) }) { meant = meant.dropFirst(prefix.utf8.count) }
        while let last = meant.last, suffixes.contains(last) { meant = meant.dropLast() }
        if meant.contains(where: { $0 == "," || $0 == ";" }) { return "; write each name as an entry of its own" }
        // Behind the name: a port, a path, a server of dnsmasq's.
        meant = meant.prefix { $0 != ":" && $0 != "/" }
        guard meant.contains("."), meant.allSatisfy(isOfHosts), (try? Name(String(meant))) != nil else { return "" }
        return "; write \(quoted(String(meant))), which means the name and all below it where suffixes are listed"
    }

    private static func isOfHosts(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-_.".contains(character))
    }

    /// How messages name a character that they cannot show: `U+200B`.
    static func number(of scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    /// Control characters, blanks, and those that leave no trace on paper.
    static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value <= 0x20 || scalar.value == 0x7f || scalar.properties.isWhitespace
            || scalar.properties.isDefaultIgnorableCodePoint || scalar.properties.generalCategory == .control
    }
}
