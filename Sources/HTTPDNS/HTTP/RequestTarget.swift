/// Path and parameters of an HTTP request, decoded.
package struct RequestTarget {
    /// The most parameters of a request, and parts of a path: vendors' SDKs send up to 16.
    private static let mostParameters = 64
    private static let mostParts = 4

    /// What stands between the slashes.
    package let path: [String]
    /// In the order in which they were sent.
    package let parameters: [(name: String, value: String)]

    /// Nil for what cannot be decoded: a percent sign without two digits, text that is not UTF-8, control characters,
    /// and for more parameters than any client sends.
    ///
    /// - Parameters:
    ///   - target: path and query as sent.
    ///   - form: more parameters, as a form encodes them.
    package init?(_ target: [UInt8], form: [UInt8] = []) {
        let end = target.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        let parts = target[..<end].split(separator: UInt8(ascii: "/"), maxSplits: Self.mostParts)
        let path = parts.compactMap(Self.decoded)
        var pairs = target[end...].dropFirst().split(
            separator: UInt8(ascii: "&"), maxSplits: Self.mostParameters)
        pairs += form.split(separator: UInt8(ascii: "&"), maxSplits: Self.mostParameters)
        let parameters = pairs.compactMap(Self.parameter)
        guard path.count == parts.count, parameters.count == pairs.count, pairs.count <= Self.mostParameters else {
            return nil
        }
        (self.path, self.parameters) = (path, parameters)
    }

    /// The value of the first parameter of this name; nil without one, and for one without a value.
    subscript(name: String) -> String? {
        parameters.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    private static func parameter(_ pair: ArraySlice<UInt8>) -> (name: String, value: String)? {
        let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
        guard let name = decoded(pair[..<end]), let value = decoded(pair[end...].dropFirst()) else { return nil }
        return (name, value)
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2,
                    let decoded = TextDecoding.hexadecimal(String(decoding: rest.prefix(2), as: UTF8.self))?.first
                else { return nil }
                rest = rest.dropFirst(2)
                bytes.append(decoded)
            } else {
                bytes.append(byte)
            }
        }
        guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
