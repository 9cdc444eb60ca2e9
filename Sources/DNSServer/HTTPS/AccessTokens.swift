/// The tokens of `[listen] tokens`: a client that has one in its path is answered whatever `allow` says.
package struct AccessTokens: Sendable {
    private let tokens: [[UInt8]]

    /// - Parameter tokens: secrets, of the characters that a path has as they are.
    package init(_ tokens: [String] = []) { self.tokens = tokens.map { Array($0.utf8) } }

    package var isEmpty: Bool { tokens.isEmpty }

    /// Whether a text is one of the tokens. How long that takes tells nothing about what the tokens are but their length.
    func contain(_ text: ArraySlice<UInt8>) -> Bool {
        var isAny = false
        for token in tokens {
            var difference: UInt8 = token.count == text.count ? 0 : 1
            for (byte, other) in zip(token, text) { difference |= byte ^ other }
            if difference == 0 { isAny = true }
        }
        return isAny
    }
}
