import Configuration
import TestSupport
import Testing

/// Variables from a file, as systemd's `EnvironmentFile=` has them.
struct EnvironmentFileTests {
    @Test(arguments: [
        ("A=1\nB = 2 \n", ["A": "1", "B": "2"]),
        ("# A=1\n; B=2\n\n  C=3", ["C": "3"]),
        ("# A=1 \\\nB=2\nC=3", ["C": "3"]),
        ("A='a # \"b\" $C'\n", ["A": "a # \"b\" $C"]),
        ("A=\"a \\\"b\\\" \\$C \\n\"", ["A": "a \"b\" $C \\n"]),
        ("A=\"one\ntwo\"\nB=1", ["A": "one\ntwo", "B": "1"]),
        ("A=one \\\n two\nB=1", ["A": "one  two", "B": "1"]),
        ("A='a'\"b\"c d", ["A": "abc d"]),
        ("A=a'b'", ["A": "a'b'"]),
        ("A=x\\ \\y", ["A": "x y"]),
        ("A=\nB=", ["A": "", "B": ""]),
        ("A=1\nA=2", ["A": "2"]),
        ("nonsense\n1A=1\nA-B=2\n=3\nexport C=4\nD=5\r\n", ["D": "5"]),
        ("A='no end", ["A": "no end"]),
        ("A=b=c", ["A": "b=c"]),
    ])
    func `a file is read as systemd reads it`(text: String, variables: [String: String]) {
        #expect(EnvironmentFile.variables(in: Array(text.utf8)) == variables)
    }

    @Test func `bytes that are no text are no value`() {
        #expect(EnvironmentFile.variables(in: Array("A=".utf8) + [0xff, 0x0a] + Array("B=1".utf8)) == ["B": "1"])
    }

    @Test func `variables of a file go before those of the process, as they are each time`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("USER_A=first\n", to: "environment")
        let configuration = try directory.write(
            minimal + "[listen]\nuser = \"${USER_A}${USER_B}\"\n", to: "httpdnsd.toml")
        let variables = Variables(process: ["USER_A": "process", "USER_B": "-b"], file: file)
        #expect(try Configuration.load(path: configuration, variables).configuration.listen.user == "first-b")
        _ = try directory.write("USER_A=second\n", to: "environment")
        #expect(try Configuration.load(path: configuration, variables).configuration.listen.user == "second-b")
    }

    @Test func `a file of variables that cannot be read is named`() throws {
        let directory = try TemporaryDirectory()
        let configuration = try directory.write(minimal, to: "httpdnsd.toml")
        #expect {
            try Configuration.load(path: configuration, Variables(process: [:], file: "/nowhere/environment"))
        } throws: {
            "\(($0 as? ConfigurationError)?.diagnostics ?? [])".contains(
                "/nowhere/environment: cannot be read: No such file or directory")
        }
    }

    @Test func `a command has what the service has, where it has nothing of its own`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("A=1\nB=2\n", to: "environment")
        let (variables, taken) = Variables(process: ["A": "mine"])
            .asOfService(file: file, credentials: directory.path)
        #expect(variables.process == ["A": "mine", "B": "2", "CREDENTIALS_DIRECTORY": directory.path])
        #expect(taken == [file, directory.path])
    }

    @Test func `a command on a machine without the service has its own variables, and so it has beside a file`() throws
    {
        let directory = try TemporaryDirectory()
        let file = try directory.write("B=2\n", to: "environment")
        for variables in [Variables(process: ["A": "1"]), Variables(process: ["A": "1"], file: "/given")] {
            let none = variables.file == nil ? directory.path + "/none" : file
            let (same, taken) = variables.asOfService(file: none, credentials: directory.path + "/none")
            #expect(same.process == ["A": "1"] && same.file == variables.file && taken == [])
        }
    }
}
