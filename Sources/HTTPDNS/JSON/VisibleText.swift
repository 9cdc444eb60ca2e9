/// Text that a display shows, and does not act on: every control character is escaped, as in `\x1b` and `\u{202e}`.
///
/// All output to people takes this type alone. What is interpolated loses its line ends too, so that no value from outside
/// looks like a line of its own; the literal text around it keeps them.
package struct VisibleText: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
    package let description: String

    /// One line, or a part of one.
    package init(_ text: String) { description = Self.escaped(text) { _ in false } }

    /// Several lines, whose ends stay.
    package init(lines text: String) { description = Self.escaped(text) { $0 == "\n" } }

    package init(stringLiteral text: String) { description = text }

    package init(stringInterpolation pieces: StringInterpolation) { description = pieces.text }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        package init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }

        package mutating func appendLiteral(_ literal: String) { text += literal }

        package mutating func appendInterpolation(_ value: some Any) {
            // Not by a literal, which would be one of this type.
            text += VisibleText(String(describing: value)).description
        }

        package mutating func appendInterpolation(_ value: VisibleText) { text += value.description }
    }

    private static func escaped(_ text: String, except stays: (Unicode.Scalar) -> Bool) -> String {
        guard text.unicodeScalars.contains(where: { $0.isDisplayControl && !stays($0) }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            guard scalar.isDisplayControl, !stays(scalar) else {
                escaped.unicodeScalars.append(scalar)
                continue
            }
            let digits = String(scalar.value, radix: 16)
            escaped += scalar.value < 0x100 ? "\\x\(digits.utf8.count < 2 ? "0" : "")\(digits)" : "\\u{\(digits)}"
        }
        return escaped
    }
}
