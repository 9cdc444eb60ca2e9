import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// A connection on which every request fails from some moment on, while new ones would succeed.
    @Suite(.serialized)
    struct PoisonedConnectionTests {
        /// For how long clients ask before everything must work again.
        private static let time: Duration = .seconds(4)

        @Test func `a connection on which nothing succeeds any more is replaced within seconds of traffic`() {
            let surprises = Scenes.play([FakeDoH.Behaviour.status(500), .status(429), .garbage, .reset, .hang]) {
                behaviour, watch in
                let service = try FakeDoH()
                let stage = try DoHStage([service])
                let surprises = try stage.ask(["www.warm.example"], by: watch).surprises
                try service.behave(behaviour, .existing)
                let began = watch.fair
                let crowd = try Crowd("during", at: stage, by: watch)
                _ = crowd.wait { $0.asked > began + Self.time }
                let after = try stage.ask((0..<10).map { "www.after\($0).example" }, by: watch).surprises
                _ = try crowd.stop()
                return surprises + after
            }
            #expect(surprises == [])
        }
    }
}
