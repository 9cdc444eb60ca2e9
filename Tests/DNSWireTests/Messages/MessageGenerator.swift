import DNSWire
import TestSupport

/// Generates random messages, the same ones in every run.
struct MessageGenerator: RandomNumberGenerator {
    private var numbers: SeededNumbers

    init(seed: UInt64) { numbers = SeededNumbers(seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    mutating func bytes(_ range: ClosedRange<Int>) -> [UInt8] {
        (0..<number(range)).map { _ in UInt8(number(0...255)) }
    }

    /// A name of few different labels, so that suffixes are shared, and sometimes of any bytes.
    mutating func name() -> Name {
        var name = [Name.root, DNSWireTests.name("example.com"), DNSWireTests.name("example.net")][number(0...2)]
        for _ in 0..<number(0...4) {
            let label = number(0...9) == 0 ? bytes(1...63).map(asciiLowercased) : [UInt8(number(0x61...0x66))]
            name = (try? name.prepending(label: label)) ?? name
        }
        return name
    }

    mutating func record() -> Record {
        let types: [UInt16] = [1, 2, 5, 6, 12, 14, 15, 16, 28, 33, 35, 39, 46, 65, 257, 4_711]
        let type = types[number(0...(types.count - 1))]
        let rdata: [UInt8] =
            switch type {
            case 1: bytes(4...4)
            case 28: bytes(16...16)
            case 2, 5, 12, 39: name().wire
            case 6: name().wire + name().wire + bytes(20...20)
            case 14: name().wire + name().wire
            case 15: bytes(2...2) + name().wire
            case 33: bytes(6...6) + name().wire
            case 35: bytes(4...4) + [1, 0x55, 0, 2, 0x61, 0x62] + name().wire
            default: bytes(0...80)
            }
        let recordClass = type == 16 && number(0...9) == 0 ? RecordClass.chaos : .internet
        return Record(
            name: name(), type: RecordType(rawValue: type), class: recordClass, ttl: UInt32(number(0...0x7fff_ffff)),
            rdata: rdata)
    }

    mutating func records(_ range: ClosedRange<Int>) -> [Record] { (0..<number(range)).map { _ in record() } }

    mutating func message() -> Message {
        var message = Message(
            id: UInt16(number(0...0xffff)), flags: HeaderFlags(rawValue: UInt16(number(0...0xffff))),
            answers: records(0...6),
            authorities: records(0...2), additionals: records(0...3))
        for _ in 0..<(number(0...9) == 0 ? number(0...3) : 1) {
            message.questions.append(Question(name: name(), type: RecordType(rawValue: UInt16(number(0...300)))))
        }
        if number(0...1) == 0 {
            message.edns = EDNS(
                udpPayloadSize: UInt16(number(0...0xffff)), version: UInt8(number(0...1)),
                extendedResponseCode: UInt8(number(0...255)), dnssecOK: number(0...1) == 0)
            for _ in 0..<number(0...3) {
                message.edns?.options.append(
                    EDNSOption(code: EDNSOption.Code(rawValue: UInt16(number(0...20))), data: bytes(0...40)))
            }
        }
        return message
    }
}
