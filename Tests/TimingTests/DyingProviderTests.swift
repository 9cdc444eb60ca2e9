import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// A provider that really fails, and comes back: the delay while it fails, and the time until it is used again.
    @Suite(.serialized)
    struct DyingProviderTests {
        private typealias Death = Integration.FailingProviderTests.Death

        /// The time within which a provider's failure must be detected, with 20 names asked for each second.
        private static let noticed: Duration = .seconds(5)
        /// The longest time for a name when no long-failed provider is waited for.
        private static let prompt: Duration = .milliseconds(700)

        @Test func `a provider that fails is soon no longer waited for, and used again within 2.5 s once it is back`() {
            let surprises = Scenes.play(Death.allCases) { death, watch in
                let service = try FakeDoH(ttl: 1)
                let stage = try DoHStage([service])
                let warm = (0..<3).map { "www.warm\($0).example" }
                var surprises = try stage.ask(warm, by: watch).surprises
                try death.begin(at: service)
                let began = watch.fair
                var crowd = try Crowd("crowd", at: stage, by: watch)
                while try !stage.backsOff() {
                    guard watch.fair - began < Self.noticed else { return ["used as usual after \(Self.noticed)"] }
                }
                _ = try crowd.stop()
                // Names never asked for, and names whose answers have expired.
                for (names, expected) in [
                    ((0..<9).map { "www.cold\($0).example" }, DoHStage.forged), (warm, FakeDoH.address),
                ] {
                    let lookups = try stage.ask(names, by: watch)
                    surprises += lookups.filter { $0.reply?.addresses != [expected] }.map(\.text)
                    if lookups.medianTime > Self.prompt { surprises.append("in the middle \(lookups.medianTime)") }
                }
                crowd = try Crowd("back", at: stage, by: watch)
                try death.end(at: service)
                let back = watch.fair
                guard crowd.wait(until: \.isProviders) else { return surprises + ["it is not used again"] }
                let time = watch.fair - back
                if time > Timing.promised { surprises.append("used again after \(time)") }
                _ = try crowd.stop()
                return try surprises + stage.ask((0..<5).map { "www.after\($0).example" }, by: watch).surprises
            }
            #expect(surprises == [])
        }
    }
}
