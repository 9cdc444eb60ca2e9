import DNSResolver
import DNSWire
import Testing

/// The pure rule: which of LocalDNS's addresses remain, by their verdicts.
struct CheckedAnswerTests {
    private static let name = (try? Name("www.example.com")) ?? .root

    /// What remains of an answer with these verdicts: `verified 0 2`, `unverified 1`, or why nothing does.
    private func left(_ verdicts: [AddressVerdict], _ level: CertificateRule.Level) -> String {
        let addresses = verdicts.indices.map { IPAddress.v4(0xc000_0200 + UInt32($0)) }
        let answer = Answer(name: Self.name, addresses: addresses, ttl: 60)
        let checked = CheckedAnswer(
            answer, for: .a, verdicts: Dictionary(uniqueKeysWithValues: zip(addresses, verdicts)), level: level)
        func places(_ answer: Answer) -> String {
            answer.addresses.compactMap { address in addresses.firstIndex(of: address).map { " \($0)" } }.joined()
        }
        return switch checked {
        case .verified(let answer): "verified" + places(answer)
        case .unverified(let answer): "unverified" + places(answer)
        case .refused(.forged): "forged"
        case .refused: "not verified"
        }
    }

    @Test(arguments: [
        ([AddressVerdict.verified], "verified 0"), ([.verified, .noTLS, .verified], "verified 0 2"),
        ([.forged, .verified], "verified 1"), ([.forged], "forged"), ([.forged, .noTLS], "forged"),
        ([.noTLS, .wrongTime, .unclear, .unchecked, .unreachable, .discredited], "not verified"),
    ])
    func `strict retains what is verified and nothing else`(verdicts: [AddressVerdict], result: String) {
        #expect(left(verdicts, .strict) == result)
    }

    @Test(arguments: [
        ([AddressVerdict.verified], "verified 0"), ([.noTLS, .verified, .unchecked], "verified 1"),
        ([.forged], "forged"), ([.forged, .noTLS, .unclear], "unverified 1 2"),
        ([.unchecked, .unclear], "unverified 0 1"), ([.unreachable, .noTLS, .discredited], "unverified 1"),
        ([.unreachable], "not verified"), ([.discredited, .unreachable], "not verified"),
    ])
    func `lenient removes forged addresses, and never mixes verified addresses with others`(
        verdicts: [AddressVerdict], result: String
    ) {
        #expect(left(verdicts, .lenient) == result)
    }

    @Test func `that there is nothing is accepted by lenient and not by strict`() {
        let nothing = Answer.negative(.nameError, name: Self.name, ttl: 60)
        #expect(CheckedAnswer(nothing, for: .a, verdicts: [:], level: .lenient) == .unverified(nothing))
        guard case .refused(.unusable) = CheckedAnswer(nothing, for: .a, verdicts: [:], level: .strict) else {
            Issue.record("believed")
            return
        }
    }

    @Test func `a set that shrinks loses its signature, and retains its aliases`() throws {
        let target = try Name("host.example.net")
        let (good, bad) = (IPAddress.v4(0xc000_0201), IPAddress.v4(0xcb00_7142))
        func answer(_ addresses: [IPAddress], signed: Bool) -> Answer {
            var answer = Answer(name: target, addresses: addresses, ttl: 60)
            answer.answers.insert(
                Record(name: Self.name, type: .cname, ttl: 60, rdata: target.wire), at: 0)
            if signed { answer.answers.append(Record(name: target, type: .rrsig, ttl: 60, rdata: [0, 1, 8])) }
            return answer
        }
        let signed = answer([good, bad], signed: true)
        #expect(signed.keeping { $0 == good } == answer([good], signed: false))
        #expect(signed.keeping { _ in true } == signed)
    }

    @Test func `auto is strict for listed names, lenient for the rest, and does not affect other routes`() throws {
        let rule = CertificateRule(.auto, unverified: [try Name("ntp.example")])
        #expect(rule.level(for: Self.name, by: .protect(explicit: true)) == .strict)
        #expect(rule.level(for: Self.name, by: .protect(explicit: false)) == .lenient)
        #expect(rule.level(for: Self.name, by: .bypass) == nil)
        #expect(rule.level(for: Self.name, by: .forward(index: 0)) == nil)
        #expect(rule.level(for: try Name("a.ntp.example"), by: .protect(explicit: true)) == nil)
    }

    @Test(arguments: [false, true])
    func `the other settings hold for listed names and the rest alike`(isExplicit: Bool) {
        let route = Route.protect(explicit: isExplicit)
        #expect(CertificateRule(.strict).level(for: Self.name, by: route) == .strict)
        #expect(CertificateRule(.lenient).level(for: Self.name, by: route) == .lenient)
        #expect(CertificateRule(.off).level(for: Self.name, by: route) == nil)
    }
}
