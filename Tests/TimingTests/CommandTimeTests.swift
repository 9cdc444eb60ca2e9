import Glibc
import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// How long a start, a stop and commands take, and how long a connection may be idle.
    struct CommandTimeTests {
        @Test func `a server is ready within 2 s`() throws {
            let (stage, time) = try Stopwatch.time { try Stage() }
            #expect(stage.daemon.isRunning && time < .seconds(2))
        }

        @Test(arguments: [SIGTERM, SIGINT])
        func `a server that owes no answer stops within 1 s`(signal: Int32) throws {
            let stage = try Stage()
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            let (outcome, time) = try Stopwatch.time {
                stage.daemon.signal(signal)
                return try stage.daemon.finish()
            }
            #expect(outcome.status == 0 && time < .seconds(1))
        }

        @Test(arguments: [false, true])
        func `a server with a question that hangs stops within 3 s, and by a second SIGTERM at once`(
            twice: Bool
        ) throws {
            let stage = try Stage()
            stage.vendor.misbehave(.hang)
            stage.localDNS.behave(.silent)
            let client = try stage.daemon.client()
            try client.send(.query("www.example.com"))
            #expect(stage.vendor.waitForCalls(1))
            let (_, time) = try Stopwatch.time {
                stage.daemon.signal(SIGTERM)
                _ = stage.daemon.waitForLog { $0.contains("stopping") }
                if twice { stage.daemon.signal(SIGTERM) }
                return try stage.daemon.finish()
            }
            #expect(time < (twice ? .seconds(1) : .seconds(3)))
        }

        @Test func `healthcheck takes 1 s at most, and 2 s where the server hangs`() throws {
            let stage = try Stage()
            let arguments = ["healthcheck", "--config", stage.daemon.configurationFile]
            let well = try Stopwatch.time { try Daemon.run(arguments) }
            #expect(well.value.status == 0 && well.time < .seconds(1))
            stage.daemon.signal(SIGSTOP)
            let hanging = try Stopwatch.time { try Daemon.run(arguments) }
            #expect(hanging.value.status == 1 && hanging.time < .seconds(2))
            stage.daemon.signal(SIGCONT)
        }

        @Test func `query gives a service that hangs up within 3.5 s`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.hang)
            let arguments = ["query", "--config", stage.daemon.configurationFile, "www.example.com", "--via", "vendor"]
            let (outcome, time) = try Stopwatch.time { try Daemon.run(arguments) }
            #expect(outcome.status == 1 && time < .seconds(3.5))
        }

        @Test(.requires(.networkNamespaces))
        func `doctor takes 6 s at most where the server hangs`() throws {
            let machine = try DoctorMachine()
            machine.daemon?.signal(SIGSTOP)
            let (outcome, time) = try Stopwatch.time { try machine.doctor() }
            #expect(outcome.status == 1 && time < .seconds(6))
            machine.daemon?.signal(SIGCONT)
        }

        @Test func `a command without a time-out gives up after 5 s, not before`() throws {
            let stage = try ControlStage()
            stage.daemon.signal(SIGSTOP)
            defer { stage.daemon.signal(SIGCONT) }
            let begin = ContinuousClock.now
            let (outcome, time) = try Stopwatch.time {
                try stage.daemon.run("status")
            }
            #expect(outcome.status == 1 && outcome.errors.contains("no answer within 5 s"), "\(outcome.errors)")
            // Also the time in which a busy machine did not let it run.
            #expect(ContinuousClock.now - begin >= .seconds(5) && time < .seconds(7))
        }

        @Test func `an idle connection is closed after 10 seconds, not before`() throws {
            let stage = try Stage()
            let client = try stage.daemon.tcpClient()
            _ = try client.ask(.query("www.example.com"))
            let (isClosed, time) = Stopwatch.time { client.isClosed(within: .patience) }
            #expect(isClosed && time > .seconds(9) && time < .seconds(12))
        }
    }
}
