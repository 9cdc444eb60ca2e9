import TestServers
import Testing

extension Integration {
    /// What the RFCs demand of every response (1035, 6891, 7873, 8482, 8906, 9619).
    @Suite(.serialized)
    struct MessageRulesTests {
        /// A question that is answered at once: everything sent before it has then been read.
        private static let landmark = TestMessage.query("version.bind", RecordType.txt, class: 3, id: 0x5555)

        /// Sends bytes that must get no reply at all.
        private func expectSilence(_ bytes: [UInt8]) throws {
            let client = try Stage().daemon.client()
            try client.send(bytes)
            try client.send(Self.landmark)
            #expect(try client.receive().message.id == Self.landmark.id)
            #expect(try client.receiveIfAny(within: .milliseconds(100)) == nil)
        }

        /// The reply to bytes that the test composes, which must have their ID.
        private func reply(to bytes: [UInt8], _ stage: Stage? = nil) throws -> TestMessage {
            let stage = try stage ?? Stage()
            defer { withExtendedLifetime(stage) {} }
            let client = try stage.daemon.client()
            try client.send(bytes)
            let reply = try client.receive().message
            #expect(reply.id == UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
            #expect(reply.isResponse)
            return reply
        }

        @Test func `a response gets no reply`() throws {
            try expectSilence(TestMessage.query("www.example.com", flags: 0x8100).encoded)
        }

        @Test(arguments: [0, 1, 11])
        func `less than a header gets no reply`(count: Int) throws {
            try expectSilence(Array(TestMessage.query("www.example.com").encoded.prefix(count)))
        }

        @Test func `ID and RD are copied, RA is set, AA and AD are clear, the question is echoed bit for bit`() throws {
            let stage = try Stage()
            for recursionDesired in [true, false] {
                let query = TestMessage.query("wWw.eXample.COM", flags: recursionDesired ? 0x0120 : 0x0020)
                let reply = try stage.daemon.client().ask(query)
                #expect(reply.recursionDesired == recursionDesired)
                #expect(reply.recursionAvailable)
                #expect(!reply.isAuthoritative)
                #expect(!reply.isAuthenticated)
                #expect(reply.questionBytes == Array(query.encoded[12...]))
                #expect(reply.answers.map(\.name) == ["wWw.eXample.COM", "wWw.eXample.COM"])
                #expect(reply.edns == nil)
            }
        }

        @Test(arguments: Array(UInt16(1)...15))
        func `any opcode but QUERY is answered NOTIMP`(opcode: UInt16) throws {
            let reply = try reply(to: TestMessage.query("www.example.com", flags: opcode << 11).encoded)
            #expect(reply.rcode == ResponseCode.notImp)
            #expect(reply.opcode == opcode)
        }

        @Test(arguments: [UInt16(0), 2, 4, 254, 0xff00])
        func `a class other than IN, CH and ANY is answered, but not by a vendor`(class: UInt16) throws {
            let stage = try Stage()
            let reply = try reply(to: TestMessage.query("www.example.com", class: `class`).encoded, stage)
            #expect([ResponseCode.refused, ResponseCode.notImp, ResponseCode.formErr].contains(reply.rcode))
            #expect(stage.vendor.callCount() == 0)
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `no question is answered FORMERR`() throws {
            #expect(try reply(to: TestMessage(id: 77, flags: 0x0100).encoded).rcode == ResponseCode.formErr)
        }

        @Test func `two questions are answered FORMERR`() throws {
            var query = TestMessage.query("www.example.com")
            query.questions.append(.init("four.example.com"))
            #expect(try reply(to: query.encoded).rcode == ResponseCode.formErr)
        }

        @Test func `a question that ends early is answered FORMERR`() throws {
            let bytes = TestMessage.query("www.example.com").encoded.dropLast(3)
            #expect(try reply(to: Array(bytes)).rcode == ResponseCode.formErr)
        }

        @Test func `a name that points to itself is answered FORMERR`() throws {
            var bytes = Array(TestMessage.query("www.example.com").encoded.prefix(12))
            bytes += [0xc0, 12, 0, 1, 0, 1]
            #expect(try reply(to: bytes).rcode == ResponseCode.formErr)
        }

        @Test func `a name over 255 bytes is answered FORMERR`() throws {
            let label = String(repeating: "a", count: 62)
            let name = [label, label, label, label, "example"].joined(separator: ".")
            #expect(try reply(to: TestMessage.query(name).encoded).rcode == ResponseCode.formErr)
        }

        @Test func `two OPT records are answered FORMERR`() throws {
            var query = TestMessage.query("www.example.com")
            query.additionals = [EDNS().record, EDNS().record]
            #expect(try reply(to: query.encoded).rcode == ResponseCode.formErr)
        }

        @Test(arguments: [UInt8(1), 255])
        func `a later EDNS version is answered BADVERS with version 0`(version: UInt8) throws {
            let stage = try Stage()
            let query = TestMessage.query("www.example.com", edns: EDNS(version: version))
            let reply = try reply(to: query.encoded, stage)
            #expect(reply.rcode == ResponseCode.badVers)
            #expect(reply.edns?.version == 0)
            #expect(reply.answers.isEmpty)
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `unknown options and flags are ignored and not echoed`() throws {
            let edns = EDNS(flags: 0x4001, options: [.init(65_001, [1, 2, 3]), .init(3), .init(12, [0, 0])])
            let reply = try reply(to: TestMessage.query("www.example.com", flags: 0x0140, edns: edns).encoded)
            #expect(reply.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(reply.flags & 0x0040 == 0)
            #expect(reply.edns?.flags == 0)
            #expect(reply.edns?.options == [])
        }

        @Test func `DO is copied to the reply and passed on`() throws {
            let stage = try Stage(.doh)
            let reply = try stage.daemon.client().ask("www.example.com", edns: EDNS(flags: 0x8000))
            #expect(reply.edns?.dnssecOK == true)
            #expect(!reply.isAuthenticated)
            #expect(reply.addresses.count == 2)
        }

        @Test func `CD is copied to the reply`() throws {
            let stage = try Stage(.doh)
            #expect(try stage.daemon.client().ask(.query("www.example.com", flags: 0x0110)).checkingDisabled)
            #expect(try !stage.daemon.client().ask(.query("www.example.com", flags: 0x0100)).checkingDisabled)
        }

        @Test func `a cookie is answered and goes no further`() throws {
            let localZone = FakeZone("lan.example.net", a: ["198.51.100.1"])
            let stage = try Stage(localDNS: localZone, route: DaemonConfiguration.route(bypass: ["example.net"]))
            let edns = EDNS(options: [.init(10, [1, 2, 3, 4, 5, 6, 7, 8])])
            let reply = try stage.daemon.client().ask(.query("lan.example.net", edns: edns))
            #expect(reply.addresses == ["198.51.100.1"])
            #expect(reply.edns?.option(10)?.count == 24)
            #expect(stage.localDNS.questions.first?.edns?.option(10) == nil)
        }

        @Test(arguments: [0, 1, 7, 9, 15, 41])
        func `a cookie of impossible length is answered FORMERR`(length: Int) throws {
            let edns = EDNS(options: [.init(10, [UInt8](repeating: 1, count: length))])
            let reply = try reply(to: TestMessage.query("www.example.com", edns: edns).encoded)
            #expect(reply.rcode == ResponseCode.formErr)
        }

        @Test func `an option that is longer than its record is answered FORMERR`() throws {
            var query = TestMessage.query("www.example.com")
            query.additionals = [.init(".", RecordType.opt, class: 1_232, ttl: 0, data: [0xfd, 0xe9, 0, 9, 1])]
            #expect(try reply(to: query.encoded).rcode == ResponseCode.formErr)
        }

        @Test(arguments: [UInt16(1), 255])
        func `ANY is answered with the addresses of both families, for one vendor call`(class: UInt16) throws {
            let stage = try Stage()
            let client = try stage.daemon.client()
            let reply = try client.ask(.query("www.example.com", RecordType.any, class: `class`))
            #expect(reply.rcode == ResponseCode.noError)
            #expect(reply.questions.map(\.class) == [`class`])
            #expect(reply.answers.map(\.type) == [RecordType.a, RecordType.a, RecordType.aaaa])
            #expect(reply.answers.allSatisfy { $0.class == 1 })
            #expect(try client.ask(.query("www.example.com", RecordType.a, class: 255)).answers.count == 2)
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `over UDP an answer to ANY is cut like any other`() throws {
            let addresses = (1...100).map { "192.0.2.\($0)" }
            let stage = try Stage(.aliyun, FakeZone("www.example.com", a: addresses))
            let reply = try stage.daemon.client().ask(.query("www.example.com", RecordType.any))
            #expect(reply.isTruncated && reply.encoded.count <= 512)
            let whole = try stage.daemon.tcpClient().ask(.query("www.example.com", RecordType.any))
            #expect(whole.answers.count == 100)
        }

        @Test(arguments: [RecordType.axfr, RecordType.ixfr])
        func `zone transfers are refused`(type: UInt16) throws {
            let stage = try Stage()
            let reply = try stage.daemon.tcpClient().ask(.query("example.com", type))
            #expect(reply.rcode == ResponseCode.refused)
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `an unknown type passes unchanged`() throws {
            let data: [UInt8] = [0, 255, 192, 12, 7]
            let localZone = FakeZone(["www.example.com": .init(others: [65_280: [data]])])
            let stage = try Stage(localDNS: localZone)
            let reply = try stage.ask("www.example.com", 65_280)
            #expect(reply.answers.map(\.data) == [data])
            #expect(reply.answers.map(\.type) == [65_280])
        }
    }
}
