import Foundation
import TestServers
import TestSupport
import Testing

extension MainJob {
    /// Where answers come from, and how often a service is asked for them.
    struct AnswerTests {
        private let vendor: FakeHTTPDNS
        private let localDNS: FakeLocalDNS

        init() throws {
            (vendor, localDNS) = (try FakeHTTPDNS(MainJob.zone), try FakeLocalDNS(MainJob.forged))
        }

        private func daemon(_ tables: String = "", disk: String = "") throws -> Daemon {
            try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + tables
                    + DaemonConfiguration.rest(localDNS: localDNS.address, disk: disk))
        }

        @Test func `a second question is answered from memory`() throws {
            let daemon = try daemon()
            #expect(try Dig(daemon.address, "www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try Dig(daemon.address, "WWW.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(vendor.callCount() == 1)
        }

        /// In both families, in different letter case, one of them over TCP; and one leaves before the answer comes.
        @Test func `100 clients that ask for a cold name cause one call, and each has its own answer`() throws {
            let daemon = try daemon()
            // All is there before the first question, after which the vendor has its time.
            let clients = try (0..<100).map { _ in try daemon.client() }
            let queries = clients.indices.map { number in
                TestMessage.query(
                    number % 3 == 0 ? "Www.ExamplE.coM" : "www.example.com",
                    number % 2 == 0 ? TestRecordType.a : TestRecordType.aaaa, id: UInt16(number))
            }
            let connection = try daemon.tcpClient()
            var leaver: TestTCPClient? = try daemon.tcpClient()
            vendor.misbehave(.hang)
            try leaver?.send([.query("www.example.com")])
            #expect(vendor.waitForCalls(1))
            leaver = nil
            for (client, query) in zip(clients, queries) { try client.send(query) }
            try connection.send([.query("www.example.com")])
            vendor.misbehave(nil)
            for (client, query) in zip(clients, queries) {
                let reply = try client.receive().message
                let isIPv4 = query.questions[0].type == TestRecordType.a
                #expect(reply.id == query.id && reply.questionBytes == Array(query.encoded[12...]))
                #expect(reply.addresses == (isIPv4 ? ["192.0.2.1", "192.0.2.2"] : ["2001:db8::1"]))
            }
            #expect(try connection.receive()?.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(vendor.callCount("www.example.com") == 1)
        }

        @Test func `after a restart a name is answered from disk, without a call`() throws {
            let directory = try TemporaryDirectory()
            let first = try daemon(disk: directory.path + "/cache.sqlite")
            #expect(try Dig(first.address, "www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try first.stop() == 0)
            let calls = vendor.callCount()
            let second = try daemon(disk: directory.path + "/cache.sqlite")
            #expect(try Dig(second.address, "www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(vendor.callCount() == calls)
        }

        @Test func `a name that the service denies does not exist, whatever LocalDNS says`() throws {
            let doh = try FakeHTTPDNS(MainJob.zone)
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address)
            let daemon = try Daemon(DaemonConfiguration.doh(doh.url) + rest)
            let reply = try Dig(daemon.address, "none.example.com")
            #expect(reply.status == "NXDOMAIN" && !reply.authorities.isEmpty, "\(reply.text)")
        }

        @Test func `a bypassed name is LocalDNS's, and no service hears of it`() throws {
            let daemon = try daemon(DaemonConfiguration.route(bypass: ["corp.example"]))
            #expect(try Dig(daemon.address, "wiki.corp.example").addresses == ["203.0.113.66"])
            #expect(vendor.callCount() == 0)
        }

        @Test func `while no service can be reached, a name on no list is LocalDNS's`() throws {
            vendor.stop()
            let daemon = try daemon()
            #expect(try Dig(daemon.address, "www.example.com").addresses == ["203.0.113.66"])
        }

        @Test func `while no service can be reached, a listed name fails with the reason`() throws {
            vendor.stop()
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["127.0.0.66"])]))
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address, check: "auto", ports: [try FreePort.next()])
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.route(protect: ["example.com"]) + rest)
            let reply = try Dig(daemon.address, "www.example.com")
            #expect(reply.status == "SERVFAIL" && !reply.extendedErrors.isEmpty, "\(reply.text)")
        }

        @Test func `a preset is given without a call`() throws {
            let daemon = try daemon("[preset.always]\n\"www.example.com\" = [\"192.0.2.99\"]\n")
            #expect(try Dig(daemon.address, "www.example.com").addresses == ["192.0.2.99"])
            #expect(vendor.callCount() == 0)
        }
    }
}
