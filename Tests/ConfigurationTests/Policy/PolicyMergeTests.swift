import Configuration
import DNSResolver
import DNSWire
import Testing

/// What is in force on a machine with a file of its own and a policy.
struct PolicyMergeTests {
    private func base() throws -> Configuration {
        try accepted(
            """
            [[provider]]
            type = "doh"
            name = "one"
            url = "https://192.0.2.1/dns-query"
            [[provider]]
            type = "doh"
            name = "two"
            url = "https://192.0.2.2/dns-query"
            [route]
            protect = ["a.example", "b.example"]
            bypass = ["c.example"]
            [preset]
            always = { "www.example.com" = ["192.0.2.10"] }
            [answers]
            bogus = ["198.51.100.0/24"]
            """
        ).configuration
    }

    private func merged(_ lines: String) throws -> Configuration { try PolicyFile.policy(lines).applied(to: base()) }

    private func names(_ list: NameList) -> [String] { list.map(\.description) }

    @Test func `a policy that says nothing changes nothing`() throws { #expect(try merged("") == base()) }

    @Test func `lists are added to those of the file`() throws {
        let merged = try merged(
            """
            [route]
            protect = ["b.example", "d.example"]
            bypass = ["e.example"]
            [answers]
            bogus = ["203.0.113.0/24", "198.51.100.0/24"]
            """)
        #expect(names(merged.route.protect) == ["a.example", "b.example", "d.example"])
        #expect(names(merged.route.bypass) == ["c.example", "e.example"])
        #expect(merged.answers.bogus.map(\.description) == ["198.51.100.0/24", "203.0.113.0/24"])
    }

    @Test func `a suffix of the policy leaves the file's other list`() throws {
        let merged = try merged("[route]\nprotect = [\"c.example\"]\nbypass = [\"a.example\"]")
        #expect(names(merged.route.protect) == ["b.example", "c.example"])
        #expect(names(merged.route.bypass) == ["a.example"])
    }

    @Test func `a list that is named in replace stands alone`() throws {
        let merged = try merged("replace = [\"route.protect\", \"answers.bogus\"]\n[route]\nprotect = [\"d.example\"]")
        #expect(names(merged.route.protect) == ["d.example"])
        #expect(names(merged.route.bypass) == ["c.example"])
        #expect(merged.answers.bogus.isEmpty)
    }

    /// - Parameter protect: the list of the machine's file.
    private func protectsUnlisted(_ protect: String, _ lines: String) throws -> Bool {
        let base = try accepted(minimal + "[route]\nprotect = \(protect)\n").configuration
        return try PolicyFile.policy(lines).applied(to: base).route.protectsUnlisted
    }

    @Test func `whether unlisted names are protected is the file's choice, unless the policy has a list`() throws {
        let bypass = "[route]\nbypass = [\"a.example\"]"
        #expect(try !protectsUnlisted("[\"a.example\"]", bypass))
        #expect(try protectsUnlisted("[]", bypass))
        let protect = "[route]\nprotect = [\"d.example\"]"
        #expect(try protectsUnlisted("[]", protect))
        #expect(try !protectsUnlisted("[\"a.example\"]", protect))
        let replace = "replace = [\"route.protect\"]\n"
        #expect(try !protectsUnlisted("[]", replace + protect))
        #expect(try protectsUnlisted("[\"a.example\"]", replace))
    }

    @Test func `the policy's preset of a name goes before the file's`() throws {
        let merged = try merged("[preset]\nalways = { \"www.example.com\" = [\"192.0.2.20\"] }")
        #expect(merged.preset.always.map(\.addresses) == [[.v4(0xc000_0214)], [.v4(0xc000_020a)]])
    }

    @Test(arguments: ["\"three\", \"two\"", "\"two\", \"one\", \"two\""])
    func `the providers that it names are asked first, once each, and none that is missing`(order: String) throws {
        #expect(try merged("provider_order = [\(order)]").providers.map(\.name) == ["two", "one"])
    }

    @Test func `the switch sends all names to LocalDNS, and on leaves the machine's own mode`() throws {
        #expect(try merged("switch = \"off\"").route.mode == .localDNSOnly)
        #expect(try merged("switch = \"on\"") == base())
    }

    @Test func `what it changes is said in a line each`() throws {
        let policy = try PolicyFile.policy(
            """
            switch = "off"
            share = 10
            replace = ["route.bypass"]
            [route]
            protect = ["d.example"]
            """)
        #expect(
            policy.changes == [
                "switches HTTPDNS off", "adds 1 name to route.protect", "replaces route.bypass with 0 names",
                "is for 10 % of the machines",
            ])
    }
}
