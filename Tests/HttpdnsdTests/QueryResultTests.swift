import DNSResolver
import DNSWire
import Foundation
import Testing

@testable import httpdnsd

/// How `query` prints what it found.
struct QueryResultTests {
    @Test func `as JSON an answer is an object with its records`() throws {
        let name = try Name("www.example.com")
        let result = QueryResult(
            question: Question(name: name, type: .a),
            result: .answer(Answer(name: name, addresses: [.v4(0xc000_0201)], ttl: 60)),
            source: SourceName(.provider, provider: "vendor"),
            took: .milliseconds(12))
        #expect(
            result.json
                == #"{"name":"www.example.com","type":"A","status":"NOERROR","source":"provider","provider":"vendor","#
                + #""milliseconds":12,"answers":[{"name":"www.example.com","type":"A","ttl":60,"data":"192.0.2.1"}]}"#)
    }
}
