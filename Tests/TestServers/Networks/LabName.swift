/// A name of the lab, and its addresses, which no other name has, so that an answer can be verified.
package struct LabName: Hashable, Sendable {
    /// The name as it is queried.
    package let text: String
    private let number: Int

    private init(_ text: String, number: Int) {
        self.text = text
        self.number = number
    }

    /// The number of numbered names.
    static let count = 8_192

    /// The numbered names, which together with `shop` are all names.
    static let numbered = (1...count).map { LabName("n\($0).lab.example", number: $0) }

    /// The host of the site that has its own certificate; the others share one.
    package static let shop = LabName("shop.lab.example", number: 0xff01)

    /// The networks of which the site has all addresses.
    static let networks = ["198.18.0.0/15", "2001:db8:18::/47"]

    /// The name's address.
    ///
    /// - Parameters:
    ///   - type: A or AAAA.
    ///   - moved: whether the site has moved.
    package func address(_ type: UInt16, moved: Bool = false) -> String {
        let network = moved ? 19 : 18
        if type == TestRecordType.aaaa { return "2001:db8:\(network)::\(String(number, radix: 16))" }
        return "198.\(network).\(number >> 8).\(number & 255)"
    }

    /// Its addresses of both families.
    package func addresses(moved: Bool = false) -> [String] {
        [TestRecordType.a, TestRecordType.aaaa].map { address($0, moved: moved) }
    }
}
