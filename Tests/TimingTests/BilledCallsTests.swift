import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// The number of requests per name at a service that has more than one address.
    @Suite(.serialized)
    struct BilledCallsTests {
        @Test func `a service that always takes 350 ms is asked once for a name, but for one in ten`() {
            let surprises = Scenes.play { _ in
                let service = try FakeDoH(ports: 2)
                let stage = try DoHStage([service], localDNS: .silent)
                try service.behave(.delay(.milliseconds(350)))
                let client = try BulkClient(stage.daemon.address, window: 5)
                _ = try client.ask((0..<20).map { .init("www.before\($0).example") })
                let names = (0..<60).map { "www.n\($0).example" }
                let wrong = try client.ask(names.map { .init($0) }).count { $0.reply?.addresses != [FakeDoH.address] }
                let calls = try service.requests.count { names.contains($0.name) }
                return (wrong == 0 ? [] : ["\(wrong) names have no answer"])
                    + (calls <= 66 ? [] : ["\(calls) calls for 60 names"])
            }
            #expect(surprises == [])
        }
    }
}
