import DNSWire
import Testing

/// Messages that are written, and read again.
struct MessageRoundTripTests {
    @Test func `any message reads as it was written`() throws {
        var generator = MessageGenerator(seed: 1)
        for _ in 0..<1_000 {
            let message = generator.message()
            #expect(try MessageParser.parse(message.encoded) == message)
        }
    }

    @Test func `a message cut at any byte never reads as the whole one`() throws {
        var generator = MessageGenerator(seed: 2)
        for _ in 0..<60 {
            let message = generator.message()
            let bytes = message.encoded
            let same = (0..<bytes.count).filter { (try? MessageParser.parse(Array(bytes[..<$0]))) == message }
            #expect(same.isEmpty)
        }
    }

    @Test func `bytes after the last record are ignored`() throws {
        let message = Message(id: 7, questions: [Question(name: name("example.com"), type: .a)])
        #expect(try MessageParser.parse(message.encoded + [1, 2, 3]) == message)
    }

    @Test func `a shared end of a name is written once, also in the rdata of RFC 1035 types`() throws {
        let record = Record(name: name("www.example.com"), type: .cname, ttl: 60, rdata: name("cdn.example.com").wire)
        let message = Message(questions: [Question(name: name("example.com"), type: .a)], answers: [record])
        let bytes = message.encoded
        #expect(Array(bytes.suffix(6)) == hex("0363646e c00c"))
        #expect(try MessageParser.parse(bytes) == message)
    }

    @Test(arguments: [33, 35, 39, 46, 65] as [UInt16])
    func `rdata of later types is never compressed`(type: UInt16) throws {
        let target = name("example.com").wire
        let prefix: [UInt8] = type == 33 ? [0, 0, 0, 0, 0, 0] : type == 35 ? [0, 0, 0, 0, 0, 0, 0] : []
        let record = Record(
            name: name("example.com"), type: RecordType(rawValue: type), ttl: 60, rdata: prefix + target)
        #expect(Message(answers: [record]).encoded.suffix(target.count) == target[...])
    }

    @Test func `the letter case of an owner follows the question, so that a client finds its own`() throws {
        let question = Question(name: name("wWw.ExAmPlE.com"), type: .a)
        let record = Record(name: name("www.example.com"), address: .v4(1), ttl: 60)
        let message = try MessageParser.parse(Message(questions: [question], answers: [record]).encoded)
        #expect(message.answers.first?.name.wire == question.name.wire)
    }

    @Test func `names past byte 16,383 are written without a pointer to them`() throws {
        let filler = Record(name: .root, type: .txt, ttl: 0, rdata: [UInt8](repeating: 0, count: 16_400))
        let late = Record(name: name("late.example.org"), address: .v4(1), ttl: 1)
        let message = Message(answers: [filler, late, late])
        let bytes = message.encoded
        #expect(bytes.count == 12 + 11 + 16_400 + 2 * (18 + 14))
        #expect(try MessageParser.parse(bytes) == message)
    }

    @Test(arguments: ["www.example.com", "."])
    func `records written behind a question are those of the whole message`(asked: String) {
        let question = Question(name: name(asked), type: .a)
        let records = [
            Record(name: name("WWW.example.com"), type: .cname, ttl: 1, rdata: name("host.example.com").wire),
            Record(name: name("host.example.com"), address: .v6(1), ttl: 2),
            Record(name: question.name, type: .mx, ttl: 3, rdata: [0, 1] + name("mail.example.com").wire),
            Record(name: name("example.com"), type: .txt, ttl: 4, rdata: [1, 65]),
        ]
        var whole = MessageBuilder(id: 0, flags: [])
        whole.append(question)
        let start = whole.bytes.count
        var behind = MessageBuilder(behind: question, recordCount: 1)
        for record in records {
            whole.append(record, to: .answer)
            behind.append(record, to: .answer)
            #expect(behind.length == whole.length)
        }
        #expect(behind.bytes == Array(whole.bytes[start...]))
    }

    @Test func `sections are counted in the header`() {
        var builder = MessageBuilder(id: 0xabcd, flags: [.response, .recursionDesired])
        let record = Record(name: .root, type: .txt, ttl: 0, rdata: [0])
        builder.append(Question(name: .root, type: .txt))
        for _ in 0..<300 { builder.append(record, to: .answer) }
        builder.append(record, to: .authority)
        builder.append(EDNS())
        #expect(Array(builder.bytes[..<12]) == hex("abcd 8100 0001 012c 0001 0001"))
    }

    @Test func `rdata that is not of its type is written as it is`() {
        let record = Record(name: .root, type: .cname, ttl: 0, rdata: [0xc0])
        #expect(Message(answers: [record]).encoded.suffix(3) == [0, 1, 0xc0])
    }

    @Test func `the response code has the upper bits of the OPT record`() throws {
        let message = Message(
            flags: [.response, HeaderFlags(rawValue: 7)], edns: EDNS(extendedResponseCode: 0xff))
        #expect(try MessageParser.parse(message.encoded).responseCode.rawValue == 0xff7)
    }
}
