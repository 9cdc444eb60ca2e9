/// SHA-256 of a public key (SPKI): `sha256//` and base64, as curl and browsers write pins.
package struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// `sha256//` and 44 characters of base64.
    package let description: String

    /// Nil for text of another form.
    package init?(_ text: String) {
        let digest = text.dropFirst("sha256//".count)
        // 32 bytes are 43 characters and one of padding; the last character then carries 4 bits, and 2 that are zero.
        guard text.hasPrefix("sha256//"), digest.utf8.count == 44, digest.hasSuffix("="),
            digest.dropLast().utf8.allSatisfy({
                (isBareKeyByte($0) && !"-_".utf8.contains($0)) || "+/".utf8.contains($0)
            }),
            let last = digest.dropLast().last, "AEIMQUYcgkosw048".contains(last)
        else { return nil }
        description = text
    }
}

extension Kind where Value == PublicKeyPin {
    static var publicKeyPin: Kind {
        .text(
            "pin", expected: "a pin in quotes such as \"sha256//...\"",
            problem: "is not a pin; write sha256// and the base64 of the SHA-256 of the public key",
            value: { PublicKeyPin($0) })
    }
}
