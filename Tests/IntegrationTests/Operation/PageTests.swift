import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The monitoring page, in a headless Chromium (Tests/Page/page.js).
    struct PageTests {
        private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
            .path

        private let target: String

        init() throws { target = "127.0.0.1:\(try FreePort.next())" }

        /// What is wrong with the page. `HTTPDNSD_SCREENSHOTS` is a folder where pictures of it stay.
        ///
        /// - Parameters:
        ///   - level: of the verdict: green, amber or red.
        ///   - queries: how many it shows at once; empty: that their number changes.
        ///   - name: one that it shows as asked for; empty: that it shows none.
        private func use(
            _ directory: TemporaryDirectory, level: String, queries: String = "", name: String = ""
        ) throws -> String {
            let folder = ProcessInfo.processInfo.environment["HTTPDNSD_SCREENSHOTS"] ?? directory.path
            // The script has patience of its own, for each thing that it waits for.
            let outcome = try ChildProcess.run(
                ["node", Self.folder + "/Tests/Page/page.js", "http://" + target, folder, level, queries, name],
                within: .patience * 10)
            return outcome.output + outcome.errors
        }

        @Test func `it shows that all is well, lives, is used by keyboard, and runs nothing foreign`() throws {
            let stage = try ControlStage(control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            let address = stage.daemon.addresses[0]
            let clients = try ChildProcess([
                "bash", "-c", "while :; do dig +tries=1 @\(address.host) -p \(address.port) www.example.com; done",
            ])
            defer { clients.signal(SIGKILL) }
            #expect(try use(stage.directory, level: "green") == "")
        }

        @Test func `it is amber while HTTPDNS is switched off, and says what mends it`() throws {
            let stage = try ControlStage(control: "http = \"\(target)\"")
            #expect(try stage.run("switch", "off").status == 0)
            #expect(try use(stage.directory, level: "amber", queries: "0") == "")
        }

        @Test func `it is red while most queries get SERVFAIL, or no provider is reached`() throws {
            let stage = try ControlStage(control: "http = \"\(target)\"")
            stage.vendor.stop()
            for number in 0..<4 { _ = try stage.ask("host\(number).example.com") }
            #expect(try use(stage.directory, level: "red", queries: "4") == "")
        }

        @Test func `it shows what was answered before it was opened`() throws {
            let stage = try ControlStage(control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            #expect(try use(stage.directory, level: "green", queries: "3") == "")
        }

        @Test func `it shows the names asked for most where they are logged, as text whatever they are`() throws {
            let stage = try ControlStage(extra: "queries = true\n", control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            _ = try stage.ask("<script>alert</script>.example.com")
            let problems = try use(
                stage.directory, level: "green", queries: "4",
                name: "<script>alert</script>.example.com")
            #expect(problems == "")
        }

        /// With the rules of axe-core, where scripts/install-dependencies could get it.
        @Test func `in all states, at three widths, in both colours and languages nothing is cut or pale`() throws {
            let directory = try TemporaryDirectory()
            let folder = ProcessInfo.processInfo.environment["HTTPDNSD_SCREENSHOTS"] ?? directory.path
            let rules = Self.folder + "/.build-clients/axe_playwright_python/axe.min.js"
            let axe = FileManager.default.fileExists(atPath: rules) ? [rules] : []
            let outcome = try ChildProcess.run(
                ["node", Self.folder + "/Tests/Page/pictures.js", folder] + axe, within: .patience * 20)
            #expect(outcome.output + outcome.errors == "")
        }

        @Test func `it shows what clients enter for encrypted DNS, also as QR codes`() throws {
            let leaf = try TestCertificates().leaf(names: ["dns.lan"])
            let (tls, https) = (try FreePort.next(), try FreePort.next())
            let stage = try ControlStage(
                listen: """
                    tls = ["127.0.0.1:\(tls)"]
                    https = ["127.0.0.1:\(https)"]
                    name = "dns.lan"
                    certificate = "\(leaf.certificate)"
                    key = "\(leaf.key)"
                    """, control: "http = \"\(target)\"")
            for _ in 0..<3 { #expect(try stage.ask("www.example.com").addresses.count == 2) }
            #expect(try use(stage.directory, level: "green", queries: "3") == "")
            let folder = ProcessInfo.processInfo.environment["HTTPDNSD_SCREENSHOTS"] ?? stage.directory.path
            for picture in ["light", "dark"] {
                let read = try ChildProcess.run(["zbarimg", "--quiet", "--raw", "\(folder)/\(picture).png"])
                #expect(
                    Set(read.output.split(separator: "\n").map(String.init))
                        == ["dns.lan", "https://dns.lan:\(https)/dns-query"], "\(picture): \(read.errors)")
            }
        }

        @Test func `a QR code of each length is read as what was put into it`() throws {
            let directory = try TemporaryDirectory()
            // Up to what the largest version holds, each version with its least and its most among them.
            let texts: [String] = (1...134).map { (length: Int) -> String in
                let bytes: [UInt8] = (0..<length).map { (place: Int) -> UInt8 in
                    UInt8(0x21 + (place * 7 + length * 13) % 90)
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            try ChildProcess.succeed(
                ["node", Self.folder + "/Tests/Page/qr.js", directory.path] + texts, within: .patience * 4)
            let pictures = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            #expect(pictures.count == texts.count)
            let read = try ChildProcess.run(
                ["zbarimg", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable"] + pictures, directory: directory.path,
                within: .patience * 4)
            #expect(read.output.split(separator: "\n").map(String.init) == texts)
            // A longer text has none.
            let long = try TemporaryDirectory()
            let text = String(repeating: "x", count: 135)
            try ChildProcess.succeed(["node", Self.folder + "/Tests/Page/qr.js", long.path, text])
            #expect(try FileManager.default.contentsOfDirectory(atPath: long.path).isEmpty)
        }
    }
}
