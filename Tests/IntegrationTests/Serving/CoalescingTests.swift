import TestServers
import TestSupport
import Testing

extension Integration {
    /// Many clients with the same question: the vendor is asked once, and each client gets its own answer.
    @Suite(.serialized)
    struct CoalescingTests {
        /// One client of the crowd, and its queries.
        private struct Member {
            var client: TestDNSClient
            var queries: [TestMessage]
        }

        /// Makes clients ask A and AAAA of one uncached name, before the vendor answers.
        private func crowd(_ stage: Stage, _ count: Int) throws -> [Member] {
            // Everything that can be prepared is made before the first question, which starts the vendor's time to
            // answer.
            let members = try (0..<count).map { number in
                let name = number % 3 == 0 ? "www.example.com" : "Www.ExamplE.coM"
                let edns = number % 2 == 0 ? EDNS() : nil
                return Member(
                    client: try stage.daemon.client(from: "127.\(1 + number % 7).\(number / 250).\(1 + number % 250)"),
                    queries: [RecordType.a, RecordType.aaaa].map { TestMessage.query(name, $0, edns: edns) })
            }
            let datagrams = members.map { $0.queries.map(\.encoded) }
            let landmark = try stage.daemon.client()
            for (number, member) in members.enumerated() {
                for _ in 0..<(number % 10 == 5 ? 2 : 1) {
                    for datagram in datagrams[number] { try member.client.send(datagram) }
                }
                // An immediate answer shows that earlier queries were read: no datagram is lost in a full buffer.
                if number % 40 == 39 { try landmark.ask(.query("version.bind", RecordType.txt, class: 3)) }
            }
            return members
        }

        /// No probe, so that a busy machine has sent all questions before the vendor gets another one.
        private static let patient = "timeout = \"1900ms\"\n"

        /// A crowd that has asked, and partly left, before its vendor answered.
        ///
        /// A machine that was too busy to send all questions before gets up to nine more tries.
        private func waitingCrowd(_ count: Int) throws -> (stage: Stage, members: [Member]) {
            for _ in 0..<10 {
                let stage = try Stage(provider: Self.patient, listen: "udp_threads = 1")
                stage.vendor.misbehave(.hang)
                stage.localDNS.behave(.silent)
                let started = ContinuousClock.now
                // The others' sockets are closed when the last reference to them goes.
                let members = try crowd(stage, count).enumerated().filter { $0.offset % 5 != 0 }.map(\.element)
                #expect(stage.vendor.waitForCalls(1))
                stage.vendor.misbehave(nil)
                if ContinuousClock.now - started < .seconds(1.8) { return (stage, members) }
            }
            throw TestFailure("the machine is too slow for this test")
        }

        @Test func `1,000 clients ask a cold name, some leave, some repeat: one call, each its own answer once`() throws
        {
            Daemon.raiseDescriptorLimit()
            let (stage, members) = try waitingCrowd(1_000)
            var wrong = 0
            for member in members {
                var open = member.queries
                while !open.isEmpty {
                    let reply = try member.client.receive()
                    let question = reply.message.questions.first
                    guard
                        let index = open.firstIndex(where: {
                            $0.id == reply.message.id && $0.questions.first?.type == question?.type
                        })
                    else {
                        wrong += 1
                        break
                    }
                    let query = open.remove(at: index)
                    let isA = query.questions[0].type == RecordType.a
                    if reply.message.questionBytes
                        != Array(query.encoded[12...].prefix(reply.message.questionBytes.count))
                        || reply.message.addresses != (isA ? ["192.0.2.1", "192.0.2.2"] : ["2001:db8::1"])
                        || (reply.message.edns == nil) != (query.edns == nil) || reply.from != stage.daemon.address
                    {
                        wrong += 1
                    }
                }
            }
            #expect(wrong == 0)
            #expect(stage.vendor.calls == [.init(.aliyun, "www.example.com", "4,6")])
            // No client is answered twice: a second answer would have arrived before a later one.
            _ = try stage.daemon.client().ask(.query("version.bind", RecordType.txt, class: 3))
            for member in members { #expect(try member.client.receiveIfAny(within: .zero) == nil) }
        }

        @Test func `the DoH form is asked once for each type`() throws {
            let stage = try Stage(.doh, provider: Self.patient, listen: "udp_threads = 1")
            stage.vendor.misbehave(.hang)
            let members = try crowd(stage, 100)
            #expect(stage.vendor.waitForCalls(2))
            stage.vendor.misbehave(nil)
            for member in members {
                for _ in member.queries { #expect(try !member.client.receive().message.addresses.isEmpty) }
            }
            #expect(Set(stage.vendor.calls.map(\.types)) == ["1", "28"])
            #expect(stage.vendor.callCount() == 2)
        }

        @Test func `UDP and TCP clients share a call`() throws {
            let stage = try Stage(provider: Self.patient)
            stage.vendor.misbehave(.hang)
            let overUDP = try stage.daemon.client()
            let overTCP = try stage.daemon.tcpClient()
            try overUDP.send(.query("www.example.com", id: 1))
            try overTCP.send([.query("www.example.com", id: 2)])
            #expect(stage.vendor.waitForCalls(1))
            // The answer to CH on the same connection shows that the question before it was read.
            #expect(try overTCP.ask(.query("version.bind", RecordType.txt, class: 3, id: 3)).id == 3)
            stage.vendor.misbehave(nil)
            #expect(try overUDP.receive().message.id == 1)
            #expect(try overTCP.receive()?.id == 2)
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `a client that leaves does not end the call for the others`() throws {
            let stage = try Stage(provider: Self.patient)
            stage.vendor.misbehave(.hang)
            var leaver: TestTCPClient? = try stage.daemon.tcpClient()
            try leaver?.send([.query("www.example.com")])
            #expect(stage.vendor.waitForCalls(1))
            let stayer = try stage.daemon.client()
            try stayer.send(.query("www.example.com"))
            leaver = nil
            _ = try stage.daemon.client().ask(.query("version.bind", RecordType.txt, class: 3))
            stage.vendor.misbehave(nil)
            #expect(try stayer.receive().message.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `programs of this machine may have more than 64 questions open together`() throws {
            let stage = try Stage(.aliyun, FakeZone(["*": .init(a: ["192.0.2.7"])]))
            stage.vendor.misbehave(.hang)
            let client = try stage.daemon.client()
            for number in 0..<100 { try client.send(.query("n\(number).example.com", id: UInt16(number))) }
            #expect(stage.vendor.waitForCalls(1))
            stage.vendor.misbehave(nil)
            for _ in 0..<100 { #expect(try client.receive().message.addresses == ["192.0.2.7"]) }
        }
    }
}
