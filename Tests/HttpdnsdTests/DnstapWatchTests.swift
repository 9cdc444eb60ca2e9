import Configuration
import DNSServer
import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import httpdnsd

/// The collector of dnstap, on the manual clock.
@Suite(.onLoop) struct DnstapWatchTests {
    @Test @Loop func `one that is away is said once, and looked for ever less often, down to each 30 s`() async throws {
        let directory = try TemporaryDirectory()
        var settings = try Configuration.parse(bytes: Array(Patient.configuration.utf8)).configuration
        settings.log.dnstap = .unix(directory.path + "/none")
        let (recorder, clock) = (LogRecorder(), ManualClock())
        let watch = try #require(
            DnstapWatch(settings, producers: 1, clock: clock, events: EventLog(recorder.logger, clock: clock)))
        defer { watch.dnstap.stop() }
        await awaited { watch.dnstap.state != .connecting }
        for seconds in [1, 1, 2, 4, 8, 16, 30, 30] {
            #expect(clock.nextDue == clock.now + .seconds(seconds))
            await clock.advance(by: .seconds(seconds))
        }
        #expect(recorder.lines.count == 1)
        #expect(recorder.lines.first?.contains("/none cannot be reached: No such file or directory") == true)
    }
}
