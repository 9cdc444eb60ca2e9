import TestServers
import TestSupport
import Testing

extension Integration {
    /// The number of requests per name at a service that has more than one address.
    @Suite(.serialized)
    struct BilledCallsTests {
        /// Asks for names, five at a time.
        private func ask(_ names: [String], _ daemon: Daemon) throws -> [Lookup] {
            try BulkClient(daemon.address, window: 5).ask(names.map { .init($0) })
        }

        @Test func `a service that always takes 350 ms is asked once for a name, but for one in ten`() {
            let surprises = Scenes.play { _ in
                let service = try FakeDoH(ports: 2)
                let stage = try DoHStage([service], localDNS: .silent)
                try service.behave(.delay(.milliseconds(350)))
                _ = try ask((0..<20).map { "www.before\($0).example" }, stage.daemon)
                let names = (0..<60).map { "www.n\($0).example" }
                let wrong = try ask(names, stage.daemon).count { $0.reply?.addresses != [FakeDoH.address] }
                let calls = try service.requests.count { names.contains($0.name) }
                return (wrong == 0 ? [] : ["\(wrong) names have no answer"])
                    + (calls <= 66 ? [] : ["\(calls) calls for 60 names"])
            }
            #expect(surprises == [])
        }

        @Test func `where a service usually answers at once, its next address is asked soon for a name that hangs`() {
            let surprises = Scenes.play { watch in
                let services = [try FakeDoH(), try FakeDoH()]
                let stage = try DoHStage(services, localDNS: .silent)
                _ = try ask((0..<20).map { "www.before\($0).example" }, stage.daemon)
                try services[0].behave(.hang, with: "struck")
                let lookups = try stage.ask(["www.struck.example"], by: watch)
                return lookups.surprises
                    + (lookups.medianTime < .seconds(1) ? [] : ["after \(lookups.medianTime)"])
            }
            #expect(surprises == [])
        }

        @Test func `a flood of names costs the calls that limits.misses_per_second allows, and log and status say so`()
            throws
        {
            let directory = try TemporaryDirectory()
            let (vendor, control) = (try FakeHTTPDNS(FleetStage.zone()), directory.path + "/control.sock")
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest(control: control)
                    + "[limits]\nmisses_per_second = 1\nmisses_burst = 40\n")
            let names = (0..<100).map { "n\($0).many.example.com" }
            let began = ContinuousClock.now
            let answered = try ask(names, daemon).count { $0.reply?.addresses.isEmpty == false }
            let seconds = Int((ContinuousClock.now - began).components.seconds)
            // Half the burst, and half of one for each second.
            #expect((20...21 + seconds).contains(answered) && vendor.callCount() <= 21 + seconds)
            #expect(daemon.waitForLog { $0.contains("limits.misses_per_second") && $0.contains("example.com") })
            let status = try Daemon.run(["status", "--socket", control]).output
            #expect(
                status.contains("\(names.count - answered) queries of client networks beyond limits.misses_per_second"))
        }
    }
}
