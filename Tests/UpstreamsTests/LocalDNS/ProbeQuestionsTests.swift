import DNSWire
import Testing

@testable import Upstreams

/// Which of the names that a server has answered it is probed with.
struct ProbeQuestionsTests {
    private static func network(_ number: UInt32) -> ClientNetwork { ClientNetwork(.v4(0xc000_0200 + number)) }

    private func question(_ name: String, _ type: RecordType = .a) throws -> Question {
        Question(name: try Name(name), type: type)
    }

    @Test func `the first names of a client network stay, each once`() throws {
        var questions = ProbeQuestions()
        for number in 0..<10 {
            for type in [RecordType.a, .aaaa] { questions.add(try question("\(number).example", type), for: .machine) }
        }
        #expect(Set(questions.all) == Set(try (0..<ProbeQuestions.limit).map { try question("\($0).example") }))
    }

    @Test func `a client network that has all places makes room for others, and only then`() throws {
        var questions = ProbeQuestions()
        for number in 0..<10 { questions.add(try question("\(number).example"), for: Self.network(1)) }
        for number in 0..<10 { questions.add(try question("\(number).example.net"), for: Self.network(2)) }
        let isOfFirst = questions.all.map { $0.name.labels.count == 2 }
        #expect(isOfFirst.count == ProbeQuestions.limit && isOfFirst.count { $0 } == ProbeQuestions.limit / 2)
    }

    @Test func `the place of a name that is not answered any more is free`() throws {
        var questions = ProbeQuestions()
        for number in 0..<ProbeQuestions.limit { questions.add(try question("\(number).example"), for: .machine) }
        questions.remove(try question("0.example"))
        questions.add(try question("new.example"), for: .machine)
        #expect(questions.all.count == ProbeQuestions.limit)
        #expect(questions.all.contains(try question("new.example")))
    }
}
