import DNSWire

/// The text of a Tencent response after decryption: one line such as
/// `www.example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,120|203.0.113.7`.
///
/// The name is there because it is requested (`query=1`). After the bar comes the client's address, used only as a mark
/// that the response is complete, since a truncated one may end in the middle of an address. With both families the
/// IPv4 part comes first. `0` is a family without addresses. Source: cloud.tencent.com/document/product/379/54976, and
/// the vendor's SDKs.
enum TencentReply {
    /// The results in `text`, which has no white space at its ends, for each type of the query that it covers.
    ///
    /// - Throws: for another name or none, for several lines, and for any other text.
    static func results(
        _ text: ArraySlice<UInt8>, _ question: ProviderQuestion
    ) throws(UpstreamFailure) -> ProviderResults {
        guard !text.contains(UInt8(ascii: "\n")) else { throw unreadable }
        let bar = text.lastIndex(of: UInt8(ascii: "|"))
        let line = text[..<(bar ?? text.endIndex)]
        // The service may leave out a name without addresses.
        let lists = text.isEmpty ? empty(question.types) : try lists(line, question)
        var results = ProviderResults()
        for type in question.types {
            if let list = lists[type] { results.add(list.result(for: type, of: question.name), for: type) }
        }
        guard bar != nil || !results.hasAnswer else {
            throw .unusable("the reply is cut short")
        }
        return results
    }

    private static func empty(_ types: [RecordType]) -> [RecordType: AddressList] {
        Dictionary(types.map { ($0, AddressList()) }) { first, _ in first }
    }

    /// The list for each type that the line covers.
    private static func lists(
        _ line: ArraySlice<UInt8>, _ question: ProviderQuestion
    ) throws(UpstreamFailure) -> [RecordType: AddressList] {
        if let dot = line.indices.first(where: { line[$0...].starts(with: ".:".utf8) }) {
            guard HostText.matches(text(line[..<dot]), question.name) else {
                throw .unusable("the reply is for another name")
            }
            return try lists(line[(dot + 2)...], question.types)
        }
        // Without the separator of name and result a line can only be an empty result.
        let isNothing = line.elementsEqual("0".utf8) || line.elementsEqual("0-0".utf8)
        guard isNothing || HostText.matches(text(line), question.name) else {
            throw .unusable("the reply does not tell which name it is for")
        }
        return empty(question.types)
    }

    private static func lists(
        _ result: ArraySlice<UInt8>, _ types: [RecordType]
    ) throws(UpstreamFailure) -> [RecordType: AddressList] {
        let parts = result.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let both: [RecordType] = [.a, .aaaa]
        switch (try AddressFamilies(types), parts.count) {
        case (.both, 2):
            return [.a: try list(parts[0]), .aaaa: try list(parts[1])]
        case (.both, 1):
            // One part covers one family, unless it says that there is nothing at all.
            let list = try list(parts[0])
            let present = both.filter { !list.addresses(of: $0).isEmpty }
            return Dictionary(uniqueKeysWithValues: (present.isEmpty ? both : present).map { ($0, list) })
        case (.v4, 1): return [.a: try list(parts[0])]
        case (.v6, 1): return [.aaaa: try list(parts[0])]
        default: throw unreadable
        }
    }

    /// Parses addresses, and the TTL if there is one.
    private static func list(_ part: ArraySlice<UInt8>) throws(UpstreamFailure) -> AddressList {
        let fields = part.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard fields.count <= 2 else { throw unreadable }
        let addresses = fields[0].elementsEqual("0".utf8) ? [] : fields[0].split(separator: UInt8(ascii: ";"))
        var list = AddressList(texts: addresses.map(text))
        if fields.count == 2 {
            guard let ttl = OutsideNumber(digits: fields[1]) else { throw unreadable }
            list.ttl = ttl
        }
        return list
    }

    private static var unreadable: UpstreamFailure { .unusable("unreadable reply: not in the service's form") }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Removes white space at both ends.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }
}
