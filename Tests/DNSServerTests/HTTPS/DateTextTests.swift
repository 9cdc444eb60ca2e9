import TestSupport
import Testing

@testable import DNSServer

/// The date of responses.
struct DateTextTests {
    @Test(
        arguments: [
            (1_740_787_199, "Fri, 28 Feb 2025 23:59:59 GMT"), (1_767_225_599, "Wed, 31 Dec 2025 23:59:59 GMT"),
            (1_767_225_600, "Thu, 01 Jan 2026 00:00:00 GMT"), (1_835_395_200, "Tue, 29 Feb 2028 00:00:00 GMT"),
            (1_760_091_010, "Fri, 10 Oct 2025 10:10:10 GMT"), (0, nil), (1_735_689_599, nil), (.min, nil),
            (253_402_300_800, nil), (.max, nil),
        ] as [(Int64, String?)])
    func `it has one form, and there is none of a clock that is not set`(time: Int64, text: String?) {
        #expect(HTTPServerResponse.date(of: time) == text)
    }

    @Test func `sessions of both versions send it, and no field without one`() throws {
        let shared = HTTPSessionShare()
        let dialogue = try HTTP2Dialogue(in: shared)
        dialogue.send(Frames.headers(1))
        let session = HTTP1ServerSession(in: shared)
        // What cannot be read is answered by the session itself.
        shared.date = "Thu, 01 Jan 2026 00:00:00 GMT"
        session.receive(Array("GET\r\n\r\n".utf8)[...])
        dialogue.send(Frames.headers(3))
        #expect(dialogue.responses[1]?.isComplete == true && dialogue.responses[1]?.fields["date"] == nil)
        #expect(dialogue.responses[3]?.fields["date"] == "Thu, 01 Jan 2026 00:00:00 GMT")
        var output: [UInt8] = []
        session.takeOutput(into: &output, limit: .max)
        #expect(String(decoding: output, as: UTF8.self).contains("\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"))
    }
}
