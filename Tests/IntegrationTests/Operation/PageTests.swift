import Foundation
import Glibc
import TestSupport
import Testing

extension Integration {
    /// The monitoring page, in a headless Chromium (Tests/Page/page.js).
    @Suite(.serialized)
    struct PageTests {
        private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
            .path

        /// What is wrong with the page. `HTTPDNSD_SCREENSHOTS` is a folder where pictures of it stay.
        ///
        /// - Parameters:
        ///   - chart: what its chart says at once; empty: that it changes.
        ///   - name: one that it shows as asked for; empty: that it shows none.
        private func use(
            _ url: String, _ directory: TemporaryDirectory, verdict: String, chart: String = "", name: String = ""
        ) throws -> String {
            let folder = ProcessInfo.processInfo.environment["HTTPDNSD_SCREENSHOTS"] ?? directory.path
            let outcome = try ChildProcess.run([
                "node", Self.folder + "/Tests/Page/page.js", url, folder, verdict, chart, name,
            ])
            return outcome.output + outcome.errors
        }

        @Test func `it shows that all is well, lives, is used by keyboard, and runs nothing foreign`() throws {
            let target = "127.0.0.1:\(try FreePort.next())"
            let stage = try ControlStage(control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            let address = stage.daemon.addresses[0]
            let clients = try ChildProcess([
                "bash", "-c",
                "n=0; while :; do dig +tries=1 @\(address.host) -p \(address.port) www.example.com host$((n++ / 4)).example.com; done",
            ])
            defer { clients.signal(SIGKILL) }
            #expect(try use("http://" + target, stage.directory, verdict: "All is well") == "")
        }

        @Test func `it says what does not work`() throws {
            let target = "127.0.0.1:\(try FreePort.next())"
            let stage = try ControlStage(control: "http = \"\(target)\"")
            #expect(try stage.run("switch", "off").status == 0)
            #expect(try use("http://" + target, stage.directory, verdict: "It works, with limits") == "")
        }

        @Test func `its charts show what was answered before it was opened`() throws {
            let target = "127.0.0.1:\(try FreePort.next())"
            let stage = try ControlStage(control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            // Until a step of the history has ended.
            _ = try ChildProcess.run([
                "bash", "-c",
                "until curl --silent --noproxy '*' --max-time 3 http://\(target)/events | grep --quiet '\"steps\":\\[{'; do :; done",
            ])
            let problems = try use(
                "http://" + target, stage.directory, verdict: "All is well", chart: "3 answers in the last minute")
            #expect(problems == "")
        }

        @Test func `it shows the names asked for most where they are logged, as text whatever they are`() throws {
            let target = "127.0.0.1:\(try FreePort.next())"
            let stage = try ControlStage(extra: "queries = true\n", control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            _ = try stage.ask("<script>alert</script>.example.com")
            let problems = try use(
                "http://" + target, stage.directory, verdict: "All is well", chart: "4 answers in the last minute",
                name: "<script>alert</script>.example.com")
            #expect(problems == "")
        }

        @Test func `the program has the page of the files in Page`() throws {
            let outcome = try ChildProcess.run(["python3", Self.folder + "/scripts/page", "--check"])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }
}
