import Admin
import Testing
import Upstreams

@testable import httpdnsd

/// What `doctor` finds in what a server says of the shared cache and of the signed policy.
struct FleetCheckTests {
    private func shared(_ change: (inout StatusReport.SharedCache) -> Void) throws -> [String]? {
        var status = StatusReport()
        status.shared.address = "redis://127.0.0.1:6379"
        change(&status.shared)
        return try Patient(status: status).keys(.sharedCache)
    }

    private func policy(_ change: (inout StatusReport.Policy) -> Void) -> [String] {
        var policy = StatusReport.Policy()
        (policy.url, policy.state) = ("https://policy.example.com/a", .inForce)
        (policy.serial, policy.expires) = (3, "2030-01-31T00:00:00Z")
        change(&policy)
        // 2030-01-01T00:00:00Z.
        return Check.findings(on: policy, now: 1_893_456_000).map(\.key)
    }

    @Test func `a shared cache that is well, or not configured, is no finding`() throws {
        #expect(try shared { _ in } == [])
        #expect(try Patient(status: StatusReport()).keys(.sharedCache) == [])
        #expect(try Patient().keys(.sharedCache) == nil)
    }

    @Test func `a shared cache that is away, refuses answers or holds foreign values is found`() throws {
        #expect(try shared { $0.state = .inBackoff } == ["shared.unreachable"])
        #expect(try shared { ($0.refused, $0.refusedAge) = (1, 599) } == ["shared.refused"])
        #expect(try shared { ($0.damaged, $0.damagedAge) = (1, 0) } == ["shared.damaged"])
    }

    @Test func `what a shared cache did wrong more than ten minutes ago is forgotten`() throws {
        #expect(try shared { ($0.refused, $0.refusedAge, $0.damaged, $0.damagedAge) = (9, 600, 9, 86_400) } == [])
    }

    @Test func `a pause of the shared cache that is over is none`() throws {
        var status = StatusReport()
        (status.shared.address, status.shared.state) = ("127.0.0.1:6379", .probeDue)
        #expect(try asked(.works(latency: .zero), status) == [])
        #expect(try asked(.unreachable("refused"), status) == ["shared.unreachable"])
        #expect(try shared { $0.state = .probeDue } == [])
    }

    private func asked(_ outcome: SharedExamination, _ status: StatusReport? = nil) throws -> [String]? {
        var patient = try Patient(status: status)
        patient.examination.shared = ("127.0.0.1:6379", outcome)
        return patient.keys(.sharedCache)
    }

    @Test func `what the shared cache does when it is asked from here is known without a server`() throws {
        #expect(try asked(.works(latency: .milliseconds(3))) == [])
        #expect(try asked(.works(latency: .milliseconds(40))) == ["shared.slow"])
        #expect(try asked(.unreachable("refused")) == ["shared.unreachable"])
        #expect(try asked(.refuses(command: "SET", reason: "NOPERM")) == ["shared.refused"])
    }

    @Test func `what is seen from here and what the server says of it is one finding`() throws {
        var status = StatusReport()
        (status.shared.address, status.shared.state) = ("127.0.0.1:6379", .inBackoff)
        (status.shared.damaged, status.shared.damagedAge) = (1, 3)
        #expect(try asked(.unreachable("refused"), status) == ["shared.unreachable", "shared.damaged"])
        #expect(try asked(.works(latency: .zero), status) == ["shared.unreachable", "shared.damaged"])
    }

    @Test func `a policy in force, for other machines, or not configured is no finding`() {
        #expect(policy { _ in } == [])
        #expect(policy { ($0.state, $0.problem) = (.elsewhere, "serial 3 is for other machines") } == [])
        #expect(policy { $0.url = "" } == [])
    }

    @Test func `a policy that is missing, has expired, ends within a week or is refused is found`() {
        #expect(policy { $0.state = .none } == ["policy.missing"])
        #expect(policy { $0.state = .expired } == ["policy.expired"])
        #expect(policy { $0.state = .overdue } == ["policy.expired"])
        #expect(policy { $0.expires = "2030-01-07T23:59:59Z" } == ["policy.ending"])
        #expect(policy { $0.expires = "2030-01-08T00:00:01Z" } == [])
        #expect(policy { $0.problem = "https://policy.example.com/a: HTTP 404" } == ["policy.refused"])
    }
}
