import TestServers
import TestSupport
import Testing

extension Integration {
    /// Preset addresses in the running server.
    struct PresetTests {
        @Test func `presets and names of the hosts file, as of the last reload, are answered here`() throws {
            let directory = try TemporaryDirectory()
            let hosts = try directory.write(
                "192.0.2.60 nas.example # here\n2001:db8::60 nas.example\nbad\n", to: "hosts")
            let stage = try ControlStage(
                extra: """
                    [preset]
                    always = { "www.example.com" = ["192.0.2.50"], "*.lab.example" = ["192.0.2.51"] }
                    hosts_file = "\(hosts)"

                    """)
            let server = stage.daemon.addresses[0]
            for _ in 0..<2 {
                #expect(try Dig(server, "WWW.example.com").addresses == ["192.0.2.50"])
                let empty = try Dig(server, "www.example.com", "AAAA")
                #expect(empty.status == "NOERROR" && empty.answers.isEmpty && empty.authorities.map(\.type) == ["SOA"])
                #expect(try Dig(server, "a.b.lab.example").addresses == ["192.0.2.51"])
                #expect(try Dig(server, "nas.example", "AAAA", ["+tcp"]).addresses == ["2001:db8::60"])
            }
            #expect(stage.daemon.waitForLog { $0.contains("\(hosts):3: does not begin with an IP address") })
            // The second round was answered by the UDP threads.
            let cache = try stage.json("status")["cache"] as? [String: Any]
            #expect((cache?["hits"] as? Int ?? 0) >= 3)
            #expect(try stage.run("status").output.contains("preset    3 names, 0 in the last resort"))
            #expect(try stage.run("cache", "show", "www.example.com").output.contains("from preset"))
            #expect(try stage.run("query", "x.lab.example").output.contains("from preset"))
            #expect(try stage.run("check").output.contains("preset    names: 2 always, 1 of \(hosts)"))
            try directory.write("192.0.2.61 nas.example\n", to: "hosts")
            #expect(try stage.run("reload").status == 0)
            #expect(try stage.ask("nas.example").addresses == ["192.0.2.61"])
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `names of preresolve are cached at the start, the last resort answers without a vendor`() throws {
            let stage = try ControlStage(
                extra: """
                    [preset]
                    preresolve = ["www.example.com"]
                    [preset.last_resort]
                    "www.example.com" = ["192.0.2.70"]
                    "api.example.com" = ["192.0.2.71"]

                    """)
            #expect(stage.vendor.waitForCalls(1))
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            #expect(try stage.ask("www.example.com", RecordType.aaaa).addresses == ["2001:db8::1"])
            #expect(stage.vendor.callCount() == 1)
            // What LocalDNS denies does not count.
            stage.vendor.misbehave(.status(500))
            let reply = try Dig(stage.daemon.addresses[0], "api.example.com")
            #expect(reply.addresses == ["192.0.2.71"] && reply.answers.map(\.ttl) == [30])
            #expect(reply.extendedErrors == [0])
            #expect(try stage.json("status")["last_resort_answers"] as? Int == 1)
            #expect(stage.daemon.waitForLog { $0.contains("is answered from preset.last_resort") })
            #expect(try stage.run("query", "api.example.com").output.contains("from preset"))
        }
    }
}
