import TestServers
import TestSupport
import Testing

extension Integration {
    /// What a client's names may cost.
    @Suite(.serialized)
    struct BilledCallsTests {
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
            let answered = try BulkClient(daemon.address, window: 5).ask(names.map { .init($0) })
                .count { $0.reply?.addresses.isEmpty == false }
            let seconds = Int((ContinuousClock.now - began).components.seconds)
            // Half the burst, and half of one for each second; a quarter of it more, until the program is known and counted.
            #expect((20...26 + seconds).contains(answered) && vendor.callCount() <= 26 + seconds)
            #expect(daemon.waitForLog { $0.contains("limits.misses_per_second") && $0.contains("example.com") })
            let status = try Daemon.run(["status", "--socket", control]).output
            #expect(
                status.contains("\(names.count - answered) queries of client networks beyond limits.misses_per_second"))
        }
    }
}
