import Configuration
import DNSWire
import HTTPDNS
import Testing

@Suite struct VariableTests {
    private func user(_ text: String, _ environment: [String: String] = [:]) throws -> String {
        try accepted(minimal + "[listen]\nuser = \"\(text)\"\n", environment: environment).configuration.listen.user
    }

    private func failure(_ text: String, _ environment: [String: String] = [:]) -> String? {
        errors(minimal + "[listen]\nuser = \"\(text)\"\n", environment: environment).first
    }

    @Test func `a variable is put in anywhere in a string`() throws {
        #expect(try user("a${X}b${Y_1}", ["X": "1", "Y_1": "2"]) == "a1b2")
    }

    @Test func `a variable is put in inside a list`() throws {
        let loaded = try accepted(minimal + "[route]\nbypass = [\"${X}.lan\"]", environment: ["X": "home"])
        #expect(loaded.configuration.route.bypass.map(\.description) == ["home.lan"])
    }

    @Test func `a default stands in for a variable that is not set or empty`() throws {
        #expect(try user("${X:-nobody}") == "nobody")
        #expect(try user("${X:-nobody}", ["X": ""]) == "nobody")
        #expect(try user("${X:-nobody}", ["X": "me"]) == "me")
        #expect(try user("${X:-}") == "")
    }

    @Test func `a variable that is empty leaves an optional value out`() throws {
        #expect(try accepted(minimal + "[http]\nproxy = \"${X:-}\"").configuration.http.proxy == nil)
    }

    @Test func `a missing variable without default names key and line`() {
        #expect(
            failure("${NAME}")
                == "t.toml:5: listen.user: needs the environment variable NAME, which is not set; set it or write "
                + "${NAME:-default}")
    }

    @Test func `two dollars write a dollar and brace`() {
        #expect(failure("$${X}")?.contains("\"$${X}\" must be up to 32 letters") == true)
    }

    @Test func `a dollar alone is itself`() throws {
        let entry = try provider(SecretTests.aliyun + "secret = \"a$b$$c$\"")
        #expect(entry.secret?.value == "a$b$$c$")
        #expect(try provider(SecretTests.aliyun + "secret = \"$${X}\"").secret?.value == "${X}")
    }

    @Test func `braces without end or name are refused`() {
        #expect(failure("${X")?.contains("has a ${ without its }") == true)
        #expect(failure("${}")?.contains("has something else than a variable's name") == true)
        #expect(failure("${1X}")?.contains("has something else than a variable's name") == true)
    }

    @Test func `the value of a variable is never shown`() {
        let all = errors(minimal + "timeout = \"${X}\"", environment: ["X": "hunter2"])
        #expect(all == ["t.toml:4: provider[1].timeout: \"${X}\" is not a duration; write one such as \"1.5s\""])
    }

    @Test func `what a variable holds is not read as a variable again`() throws {
        #expect(
            try provider(SecretTests.aliyun + "secret = \"${X}\"", environment: ["X": "${Y}"]).secret?.value
                == "${Y}")
    }

    @Test func `the environment of the process is read`() {
        #expect(processEnvironment()["PATH"]?.isEmpty == false)
    }
}
