import TestServers
import TestSupport

/// Names and their records, drawn from a seed: what a zone on the Internet may have, and what no host is called.
struct DrawnZone {
    /// How a name is written.
    private enum Shape: CaseIterable {
        case plain, mixedCase, bytes, escaped, underscore, longLabel, longName, manyLabels, asterisk
    }

    /// What a name has.
    private enum Content: CaseIterable {
        case bothFamilies, ipv4, ipv6, manyAddresses, nothing, texts, mail, services, opaque, chain, chainToNothing,
            chainWithoutAddresses, wildcard, reverse
    }

    /// The end of all names but the reverse ones.
    static let end = ".beside.example.com"

    /// The records.
    var zone = FakeZone()
    /// The names to ask for, with the types of which they may have records besides addresses.
    private(set) var names: [(name: String, types: [UInt16])] = []
    private var numbers: SeededNumbers

    init(names count: Int, seed: UInt64) {
        numbers = SeededNumbers(seed)
        zone.hasOneSOA = true
        for index in 0..<count { addName(index) }
    }

    private mutating func addName(_ index: Int) {
        let content = pick(Content.allCases)
        if content == .reverse { return addReverseName(index) }
        let base = "n\(index)" + Self.end
        let name = name(pick(Shape.allCases), above: "." + base)
        let entry = entry(content, base)
        switch content {
        case .nothing: break
        case .wildcard: zone.entries["*." + base] = entry
        default: zone.entries[name.lowercased()] = entry
        }
        names.append((name, entry.others.keys.sorted()))
    }

    private mutating func addReverseName(_ index: Int) {
        // Of networks that have no meaning of their own.
        let name = "\(index % 250).\(index / 250).\(int(0...255)).\(int(11...99)).in-addr.arpa"
        let data = TestName.wire("Host\(index)" + Self.end)
        zone.entries[name] = .init(others: [RecordType.ptr: [data]], ttl: ttl())
        names.append((name, [RecordType.ptr]))
    }

    /// A name of this shape, with `end` behind it.
    private mutating func name(_ shape: Shape, above end: String) -> String {
        // Its bytes in wire form, with the root's.
        let room = 255 - TestName.wire(end).count
        return switch shape {
        case .plain: "www" + end
        case .mixedCase: "WwW-MiXeD" + end
        case .bytes: label(int(1...20)) { UInt8($0.int(0...255)) } + end
        case .escaped: label(int(1...12)) { $0.pick(Array(#".\"@$;() #"#.utf8)) } + end
        case .underscore: "_sip._tcp" + end
        case .longLabel: letters(63) + end
        case .longName: longName(room) + end
        case .manyLabels: Array(repeating: "a", count: room / 2).joined(separator: ".") + end
        case .asterisk: "*.sub" + end
        }
    }

    /// Labels of exactly so many bytes in wire form.
    private mutating func longName(_ room: Int) -> String {
        var labels: [String] = []
        var room = room
        while room > 0 {
            // No byte may be left over: a label has two at least.
            let length = room <= 64 ? room - 1 : min(63, room - 3)
            labels.append(letters(length))
            room -= length + 1
        }
        return labels.joined(separator: ".")
    }

    private mutating func letters(_ count: Int) -> String {
        label(count) { $0.pick(Array("abcxyzABCXYZ0189-_".utf8)) }
    }

    private mutating func label(_ count: Int, _ byte: (inout Self) -> UInt8) -> String {
        TestName.text([(0..<count).map { _ in byte(&self) }])
    }

    private mutating func entry(_ content: Content, _ base: String) -> FakeZone.Entry {
        switch content {
        case .bothFamilies: .init(a: ipv4(int(1...8)), aaaa: ipv6(int(1...8)), ttl: ttl())
        case .ipv4, .wildcard: .init(a: ipv4(int(1...4)), ttl: ttl())
        case .ipv6: .init(aaaa: ipv6(int(1...4)), ttl: ttl())
        case .manyAddresses: .init(a: ipv4(int(20...300)), aaaa: ipv6(int(10...160)), ttl: ttl())
        case .nothing, .reverse: .init()
        case .texts:
            .init(others: [RecordType.txt: (0..<int(1...12)).map { [UInt8(200)] + texts($0) }], ttl: ttl())
        case .mail: .init(a: ipv4(1), others: mail(base), ttl: ttl())
        case .services: .init(a: ipv4(1), aaaa: ipv6(1), others: services(base), ttl: ttl())
        case .opaque:
            .init(
                others: [65_280: [bytes(int(0...300)), bytes(300)], RecordType.hinfo: [[1, 65, 1, 66]]], ttl: ttl())
        case .chain: alias(base, .init(a: ipv4(int(1...40)), aaaa: ipv6(int(1...40)), ttl: ttl()))
        case .chainToNothing: alias(base, nil)
        case .chainWithoutAddresses: alias(base, .init(others: [RecordType.txt: [[2, 104, 105]]], ttl: ttl()))
        }
    }

    /// The first of up to eight aliases, the last of which leads to `last`; nil: to a name that does not exist.
    private mutating func alias(_ base: String, _ last: FakeZone.Entry?) -> FakeZone.Entry {
        var target = "End." + base
        zone.entries[target.lowercased()] = last
        for step in 0..<int(0...7) {
            let name = "Step\(step)." + base
            zone.entries[name.lowercased()] = .init(
                others: [RecordType.cname: [TestName.wire(target)]], alias: target, ttl: ttl())
            target = name
        }
        return .init(others: [RecordType.cname: [TestName.wire(target)]], alias: target, ttl: ttl())
    }

    private mutating func mail(_ base: String) -> [UInt16: [[UInt8]]] {
        [
            RecordType.mx: (0..<int(1...6)).map { [0, UInt8($0)] + TestName.wire("Mx\($0)." + base) },
            RecordType.ns: [TestName.wire("ns1." + base), TestName.wire("NS2.example.net")],
            RecordType.txt: [[6] + Array("v=spf1".utf8)],
        ]
    }

    private mutating func services(_ base: String) -> [UInt16: [[UInt8]]] {
        // HTTPS and SVCB: priority, target, alpn=h2; SRV: priority, weight, port, target; CAA; TLSA; NAPTR; DS.
        [
            65: [[0, 1, 0, 0, 1, 0, 3, 2, 104, 50]], 64: [[0, 1] + TestName.wire("svc." + base)],
            33: [[0, 1, 0, 2, 1, 187] + TestName.wire("Srv." + base)],
            257: [[0, 5] + Array("issueca.example".utf8)], 52: [[3, 1, 1] + bytes(32)],
            35: [[0, 1, 0, 1, 1, 117, 0, 0] + TestName.wire("naptr." + base)], 43: [[0, 1, 8, 2] + bytes(32)],
        ]
    }

    private mutating func texts(_ index: Int) -> [UInt8] { [UInt8(index)] + bytes(199) }

    private mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(int(0...255)) } }

    private mutating func ipv4(_ count: Int) -> [String] {
        let first = int(0...60_000)
        return (first..<first + count).map { "198.18.\($0 / 256).\($0 % 256)" }
    }

    private mutating func ipv6(_ count: Int) -> [String] {
        let first = int(1...40_000)
        return (first..<first + count).map { "2001:db8::\(String($0, radix: 16))" }
    }

    /// A time to live; never 0, which needs no cache.
    private mutating func ttl() -> UInt32 { pick([5, 30, 60, 300, 3_600, 86_400]) }

    private mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &numbers) }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[int(0...elements.count - 1)] }

    /// Two questions for addresses of each name and one for another type, each in a way of its own.
    mutating func queries() -> [TestMessage] {
        let others: [UInt16] = [
            RecordType.txt, RecordType.mx, RecordType.ns, RecordType.cname, RecordType.ptr, RecordType.soa, 33, 65,
            65_280,
        ]
        return names.flatMap { name, types in
            let other = pick(types.isEmpty ? others : types)
            return [RecordType.a, RecordType.aaaa, other].map { query(name, $0, flags: 0x0100) }
        }
    }

    /// The questions of some queries in other ways, now and then without RD: their answers are cached.
    mutating func again(_ queries: [TestMessage]) -> [TestMessage] {
        queries.flatMap(\.questions).map { query($0.name, $0.type, flags: int(1...16) == 1 ? 0 : 0x0100) }
    }

    /// A query for a name in other letter case, without EDNS or with one of the buffers that are in use, with DO, CD, AD
    /// and an unknown option now and then.
    private mutating func query(_ name: String, _ type: UInt16, flags: UInt16) -> TestMessage {
        var flags = flags
        if int(1...8) == 1 { flags |= 0x0010 }
        if int(1...8) == 1 { flags |= 0x0020 }
        var edns: EDNS?
        if int(1...4) > 1 {
            edns = EDNS(size: pick([0, 512, 1_232, 1_232, 4_096, 65_535]), flags: int(1...4) == 1 ? 0x8000 : 0)
            if int(1...8) == 1 { edns?.options = [.init(65_001, bytes(int(0...20)))] }
        }
        return .query(inAnotherCase(name), type, flags: flags, edns: edns)
    }

    /// Letters in upper and lower case as drawn.
    private mutating func inAnotherCase(_ name: String) -> String {
        guard int(1...2) == 1 else { return name }
        return String(
            String.UnicodeScalarView(
                name.unicodeScalars.map { scalar in
                    let isUpper = int(0...1) == 1
                    return switch scalar {
                    case "a"..."z" where isUpper: Unicode.Scalar(UInt8(scalar.value) - 32)
                    case "A"..."Z" where !isUpper: Unicode.Scalar(UInt8(scalar.value) + 32)
                    default: scalar
                    }
                }))
    }
}
