import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// HTTPDNS served by the daemon, in the vendors' own forms.
    struct ServiceTests {
        /// A daemon that serves HTTPDNS, behind it one fake vendor.
        private struct Central {
            let stage: Stage
            let url: String
            private var directory: TemporaryDirectory?

            init(
                _ accounts: String, listen: String = "", on port: UInt16? = nil, localDNS: FakeZone = FakeZone(),
                searchList: String? = nil
            ) throws {
                directory = try searchList.map { _ in try TemporaryDirectory() }
                let file = directory.map { $0.path + "/resolv.conf" }
                if let file, let searchList {
                    try Data("search \(searchList)\n".utf8).write(to: URL(fileURLWithPath: file))
                }
                let port = try port ?? FreePort.next()
                url = "http://127.0.0.1:\(port)"
                stage = try Stage(
                    localDNS: localDNS, extra: "[answers]\nrotate = false\n" + accounts,
                    listen: "httpdns = [\"127.0.0.1:\(port)\"]\n\(listen)", resolvConf: file)
            }

            /// The body and status of the response to a vendor's request.
            func get(_ target: String, _ options: [String] = []) throws -> (body: String, status: String) {
                let outcome = try ChildProcess.run(
                    ["curl", "--silent", "--noproxy", "*", "--globoff", "--write-out", "\n%{http_code}"] + options
                        + [url + target])
                let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
                return (lines.dropLast().joined(separator: "\n"), String(lines.last ?? ""))
            }
        }

        @Test(arguments: VendorForm.allCases.filter { $0 != .doh })
        func `one daemon asks another in every form`(form: VendorForm) throws {
            let central = try Central(form.accountTable)
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let edge = try Daemon(
                form.provider(central.url) + DaemonConfiguration.route(mode: "httpdns-only")
                    + DaemonConfiguration.rest(localDNS: localDNS.address) + "[answers]\nrotate = false\n")
            #expect(try edge.dig("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try edge.dig("www.example.com", "AAAA").addresses == ["2001:db8::1"])
            #expect(try edge.dig("four.example.com", "AAAA").status == "NOERROR")
            #expect(localDNS.questionCount() == 0)
        }

        @Test func `the answer comes from the cache that all clients have, and queries of DNS are not served`() throws {
            let central = try Central("[[account]]\nid = \"1\"\n")
            _ = try central.stage.ask("www.example.com")
            let calls = central.stage.vendor.callCount()
            #expect(try central.get("/1/d?host=www.example.com").body.contains("\"192.0.2.1\",\"192.0.2.2\""))
            #expect(try central.get("/resolve?name=www.example.com&type=1").body.contains("\"data\":\"192.0.2.1\""))
            #expect(central.stage.vendor.callCount() == calls)
            #expect(try central.get("/dns-query?dns=AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA2NvbQAAAQAB").status == "404")
        }

        /// The targets of requests that an account may make from anywhere.
        private static func signed(_ name: String, type: String = "A") throws -> [String] {
            let time = Int(Date().timeIntervalSince1970)
            func digest(_ program: String, _ text: String) throws -> String {
                try String(
                    ChildProcess.run(["sh", "-c", "printf %s '\(text)' | \(program)"]).output.prefix { $0 != " " })
            }
            let key = try digest("sha256sum", "7s3cret\(time)\(name)")
            let json = "/resolve?name=\(name)&type=\(type)&uid=7&ts=\(time)&key=\(key)"
            guard type == "A" else { return [json] }
            let signature = try digest("md5sum", "\(name)-s3cret-\(time + 600)")
            let aliyun = "host=\(name)&t=\(time + 600)&s=\(signature)"
            return ["/7/sign_d?\(aliyun)", "/7/sign_resolve?\(aliyun)", "/d?dn=\(name)&token=s3cret&query=1", json]
        }

        @Test func `an account without names gets nothing of the network's from outside, by any form`() throws {
            let central = try Central(
                "[[account]]\nid = \"7\"\nsecret = \"s3cret\"\nreplayable = true\n"
                    + "[preset]\nalways = { \"preset.example.com\" = [\"198.51.100.1\"] }\n"
                    + "[route]\nbypass = [\"bypass.example\"]\n",
                listen: "allow = [\"192.0.2.0/24\"]\n",
                localDNS: FakeZone([
                    "nas.lan": .init(a: ["198.51.100.1"]), "a.bypass.example": .init(a: ["198.51.100.1"]),
                    "db.corp.example.com": .init(a: ["198.51.100.1"]),
                ]), searchList: "corp.example.com")
            for (name, other) in [
                ("nas.lan", "none.lan"), ("a.bypass.example", "b.bypass.example"),
                ("db.corp.example.com", "no.corp.example.com"), ("preset.example.com", "none.lan"),
            ] {
                let pairs = zip(try Self.signed(name), try Self.signed(other))
                for (target, same) in pairs {
                    let reply = try central.get(target)
                    #expect(reply.status == "200" && !reply.body.contains("198.51.100.1"), "\(target) \(reply)")
                    // Which names there are does not show.
                    let absent = try central.get(same).body.replacing(other, with: name)
                    #expect(reply.body == absent)
                }
            }
            #expect(central.stage.localDNS.questionCount() == 0)
            let reverse = try Self.signed("1.1.168.192.in-addr.arpa", type: "PTR")
            #expect(try central.get(reverse[0]).body.contains("\"Status\":5"))
            #expect(central.stage.daemon.waitForLog { $0.contains("account 7 is used outside of listen.allow") })
            for target in try Self.signed("www.example.com") {
                #expect(try central.get(target).body.contains("192.0.2.1"), "\(target)")
            }
        }

        @Test func `beyond its quota an account gets nothing, another does, and refused calls use up nothing`() throws {
            let central = try Central("[[account]]\nid = \"1\"\ndaily_limit = 2\n[[account]]\nid = \"2\"\n")
            #expect(try central.get("/1/d?host=www.example.com").status == "200")
            let reply = try central.get("/1/d?host=www.example.com&query=4,6")
            #expect(reply.status == "429" && reply.body == "{\"code\":\"ServiceLevelDeny\"}")
            #expect(try central.get("/1/d?host=www.example.com").status == "200")
            #expect(try central.get("/1/d?host=www.example.com").status == "429")
            #expect(try central.get("/2/d?host=www.example.com").status == "200")
        }

        @Test func `status and metrics show who asks, and what of it was refused`() throws {
            let (port, http) = (try FreePort.next(), try FreePort.next())
            let stage = try ControlStage(
                extra: "[[account]]\nid = \"1\"\ndaily_limit = 2\n[[account]]\nid = \"2\"\nsecret = \"s3cret\"\n",
                listen: "httpdns = [\"127.0.0.1:\(port)\"]\n", control: "http = \"127.0.0.1:\(http)\"\n")
            func get(_ address: String, _ options: String...) throws -> String {
                try ChildProcess.run(
                    ["curl", "--silent", "--noproxy", "*"] + options + ["http://127.0.0.1:" + address]
                )
                .output
            }
            #expect(try stage.run("status").output.contains("HTTPDNS on http://127.0.0.1:\(port); no request yet\n"))
            for target in ["1/d?host=www.example.com&query=4,6", "1/d?host=www.example.com", "1/d?host="] {
                _ = try get("\(port)/\(target)")
            }
            for account in [2, 3] { _ = try get("\(port)/\(account)/d?host=www.example.com") }
            _ = try get("\(port)/1/d?host=www.example.com", "--header", "Origin: http://evil.example")
            #expect(try get("\(port)/1/ss").contains("\"service_ip_port\":[\(port)]"))
            let text = try stage.run("status").output
            #expect(text.contains("requests: 2 answered, 2 credentials, 1 quota, 1 site, 1 malformed\n"), "\(text)")
            #expect(text.contains("account 1: 2 of 2 names today\n") && text.contains("account 2: 0 names today\n"))
            let metrics = try get("\(http)/metrics")
            #expect(metrics.contains("\nhttpdnsd_app_requests_total{result=\"credentials\"} 2\n"))
            #expect(metrics.contains("\nhttpdnsd_app_names_today{account=\"1\"} 2\n"))
            try stage.rewrite(listen: "httpdns = [\"127.0.0.1:\(port)\"]\n")
            #expect(try stage.run("reload").status == 0)
            #expect(try !stage.run("status").output.contains("account 1"))
        }

        @Test func `what is used up of a quota is so after a restart`() throws {
            let directory = try TemporaryDirectory()
            let (vendor, localDNS) = (try FakeHTTPDNS(Stage.zone), try FakeLocalDNS(FakeZone()))
            let port = try FreePort.next()
            func start() throws -> Daemon {
                try Daemon(
                    DaemonConfiguration.aliyun(vendor.url) + "[[account]]\nid = \"1\"\ndaily_limit = 60\n"
                        + DaemonConfiguration.rest(localDNS: localDNS.address, disk: directory.path + "/cache.sqlite"),
                    listen: "httpdns = [\"127.0.0.1:\(port)\"]\n")
            }
            /// Uses up what is left; returns how many questions were answered.
            func useUp() throws -> Int {
                let target = "http://127.0.0.1:\(port)/1/d?host=www.example.com&query=4,6"
                for answered in 0..<100 {
                    let words = ["curl", "--silent", "--noproxy", "*", "--globoff", "--output", "/dev/null"]
                    let reply = try ChildProcess.run(words + ["--write-out", "%{http_code}", target])
                    if reply.output == "429" { return answered }
                    #expect(reply.output == "200")
                }
                return 100
            }
            let first = try start()
            #expect(try useUp() == 30)
            #expect(try first.stop() == 0)
            let second = try start()
            #expect(try useUp() < 30)
            #expect(try second.stop() == 0)
        }

        @Test func `a daemon that asks itself finds it, and the next source answers`() throws {
            let port = try FreePort.next()
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let daemon = try Daemon(
                VendorForm.json.provider("http://127.0.0.1:\(port)")
                    + DaemonConfiguration.rest(localDNS: localDNS.address),
                listen: "httpdns = [\"127.0.0.1:\(port)\"]\n")
            #expect(try daemon.dig("www.example.com").addresses == ["198.51.100.1"])
            #expect(daemon.waitForLog { $0.contains("HTTP 508") })
        }
    }
}
