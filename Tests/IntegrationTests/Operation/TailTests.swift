import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd tail`.
    struct TailTests {
        /// Starts the command, and asks until it has shown a query.
        private func tail(
            _ stage: ControlStage, _ arguments: String..., asking name: String = "www.example.com",
            from client: String? = nil
        ) throws -> ChildProcess {
            // As a shell in a terminal starts it: `swift test` ignores SIGINT, which its children inherit.
            let command = try ChildProcess(
                ["env", "--default-signal=INT", Daemon.executable, "tail", "--socket", stage.socket] + arguments)
            let end = ContinuousClock.now + .patience
            repeat {
                #expect(try stage.daemon.client(from: client).ask(name).rcode == ResponseCode.noError)
                if command.waitForOutput(.milliseconds(150), { output, _ in output.contains(name) }) { return command }
            } while command.isRunning && ContinuousClock.now < end
            throw TestFailure("nothing is shown: \(command.output)\(command.errors)")
        }

        private func objects(_ text: String) throws -> [[String: Any]] {
            try text.split(separator: "\n").map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }

        @Test func `queries are shown as they are answered, and of them those that are wanted`() throws {
            let stage = try ControlStage(listen: "allow = [\"127.0.0.0/8\"]")
            let all = try tail(stage)
            let one = try tail(
                stage, "FOUR.example.com", "--client", "127.0.0.9/32", "--source", "cache", "--json",
                asking: "four.example.com", from: "127.0.0.9")
            #expect(try stage.ask("four.example.com").rcode == ResponseCode.noError)
            #expect(try stage.ask("four.example.com").rcode == ResponseCode.noError)
            for text in [
                "Z 127.0.0.1 udp www.example.com A NOERROR protect ", " ms provider vendor\n", " ms cache\n",
                "Z 127.0.0.9 udp four.example.com A NOERROR protect ",
                "Z 127.0.0.1 udp four.example.com A NOERROR protect ",
            ] {
                #expect(all.waitForOutput(.patience) { output, _ in output.contains(text) }, "\(text)")
            }
            let shown = try objects(one.output)
            #expect(
                shown.allSatisfy { $0["name"] as? String == "four.example.com" && $0["source"] as? String == "cache" })
            #expect(shown.allSatisfy { $0["client"] as? String == "127.0.0.9" && $0["microseconds"] is Int })
            #expect(try stage.run("tail", "--slower", "fast").status == 2)
            let fine = try stage.run("tail", "--slower", "0.5ms")
            #expect(fine.status == 2 && fine.errors.contains("0.5ms: not a duration up to 1m in whole milliseconds"))
            #expect(try stage.run("tail", "--client", "a.example").status == 2)
            let misspelt = try stage.run("tail", "--source", "vendr")
            #expect(
                misspelt.status == 2
                    && misspelt.errors.contains("there is no \"vendr\", but: cache, disk, stale, provider, shared,"))
            #expect(misspelt.errors.contains("vendor"))
        }

        @Test func `it ends by Ctrl-C and with the server, which does not wait for it`() throws {
            let stage = try ControlStage()
            let (first, second) = (try tail(stage), try tail(stage))
            first.signal(SIGINT)
            #expect(try first.finish(within: .patience).status == 128 + SIGINT)
            #expect(try stage.daemon.stop() == 0)
            let outcome = try second.finish(within: .patience)
            #expect(outcome.status == 1 && outcome.errors.hasPrefix("the server has ended the stream"))
            #expect(try Daemon.run(["tail", "--socket", stage.socket]).status == 1)
        }
    }
}
