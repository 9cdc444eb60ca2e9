import TestServers
import Testing

extension Integration {
    /// Mode `localdns-first`: once LocalDNS's answer is detected to be forged, HTTPDNS is asked.
    @Suite(.serialized)
    struct ReplacedFlightTests {
        @Test func `a provider is not blamed for what was given up because LocalDNS's answer was forged`() {
            let surprises = Scenes.play { watch in
                // The forged address shows another name's certificate, but not before HTTPDNS is asked for the other
                // family.
                let impostor = try Nginx(TestCertificates().leaf(names: ["other.example.net"]))
                let relay = try HTTPRelay(to: impostor.address, delay: .milliseconds(850))
                let localDNS = try FakeLocalDNS()
                localDNS.behave(.lie(["127.0.0.1"]), type: RecordType.a)
                localDNS.behave(.silent, type: RecordType.aaaa)
                for number in 0..<100 { localDNS.behave(.rcode(ResponseCode.servFail), for: "n\(number).example.com") }
                // It is slow, but has never failed.
                let vendor = try FakeHTTPDNS(FakeZone("*", a: [FakeDoH.address]))
                vendor.misbehave(.delay(.milliseconds(600)))
                let daemon = try Daemon(
                    DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.route(mode: "localdns-first")
                        + DaemonConfiguration.rest(localDNS: localDNS.address, check: "lenient", ports: [relay.port]))
                let forged = try daemon.client()
                for number in 0..<2 { try forged.send(.query("www\(number).example.com", id: UInt16(number))) }
                guard vendor.waitForCalls(2) else { return ["HTTPDNS is not asked"] }
                // Names that LocalDNS cannot answer, before, at and after the moment at which the handshakes end.
                let others = try Traffic(
                    daemon, from: "127.0.8.1", every: .milliseconds(100), count: 12, by: watch
                ) { "n\($0).example.com" }.finish()
                return others.surprises + (relay.connections > 0 ? [] : ["no handshake"])
            }
            #expect(surprises == [])
        }
    }
}
