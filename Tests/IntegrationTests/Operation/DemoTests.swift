import Foundation
import TestServers
import Testing

extension Integration {
    @Suite(.requires(.networkNamespaces))
    struct DemoTests {
        @Test func `the demo shows what it promises`() throws {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
                .standardized.path
            let outcome = try ChildProcess.run(
                [root + "/scripts/demo"], environment: ["HTTPDNSD_EXECUTABLE": Daemon.executable], within: .seconds(300)
            )
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        }
    }
}
