import DNSWire
import Foundation
import Testing

@testable import Configuration

struct HostsFileTests {
    private func read(_ text: String) -> HostsFile { HostsFile(Array(text.utf8)) }

    private func texts(_ file: HostsFile) -> [String] {
        file.entries.map { "\($0.name) \($0.addresses.map(\.description).joined(separator: " "))" }
    }

    private func problems(_ file: HostsFile) -> [String] {
        file.problems.map { "\($0.line.map { "\($0)" } ?? "-"): \($0.text)" }
    }

    @Test func `a line has an address and its names, and a name has the addresses of all its lines`() {
        let file = read(
            """
            # the office
            192.0.2.1\tWWW.office.example  www # also short\r
              2001:db8::1 www.office.example.

            192.0.2.2 www.office.example
            192.0.2.1 www.office.example
            """)
        #expect(
            texts(file) == ["www.office.example 192.0.2.1 2001:db8::1 192.0.2.2", "www 192.0.2.1"])
        #expect(problems(file).isEmpty)
    }

    @Test func `localhost is left out without a word, for it means the same everywhere`() {
        let file = read("127.0.0.1 localhost a.localhost myhost\n::1 localhost ip6-localhost\n")
        #expect(texts(file) == ["myhost 127.0.0.1", "ip6-localhost ::1"])
        #expect(problems(file).isEmpty)
    }

    @Test func `a bad line is reported with its number, and the others count`() {
        let file = read("www.example.com 192.0.2.1\n192.0.2.1\n192.0.2.1 a..b good.example *.x\nfe80::1%lo link\n")
        #expect(texts(file) == ["good.example 192.0.2.1"])
        #expect(
            problems(file) == [
                "1: does not begin with an IP address", "2: has an address and no name",
                "3: \"a..b\" is not a name: a label is empty (two dots in a row, or a dot at the start)",
                "3: \"*.x\" has a *, which only preset.always knows", "4: does not begin with an IP address",
            ])
    }

    @Test func `of many bad lines only the first are reported, and how many more there are`() {
        let file = read(String(repeating: "x\n", count: 25))
        #expect(file.problems.count == HostsFile.reportedLines + 1)
        #expect(problems(file).last == "-: 15 more like these")
    }

    @Test func `names and addresses of a name have a limit`() {
        let many = (0...HostsFile.maximumNames).map { "1.1.1.1 h\($0)" }.joined(separator: "\n")
        let file = read(many)
        #expect(file.entries.count == HostsFile.maximumNames)
        #expect(problems(file) == ["100001: has more than 100000 names: the rest is left out"])
        let wide = read((0...HostsFile.maximumAddresses).map { "192.0.2.\($0) x" }.joined(separator: "\n"))
        #expect(wide.entries.first?.addresses.count == HostsFile.maximumAddresses)
        #expect(problems(wide) == ["65: \"x\" has more than 64 addresses"])
    }

    @Test func `bytes that are no text make a bad line, and the other lines count`() {
        let line = Array("\n192.0.2.1 www.example.com\n".utf8)
        let file = HostsFile(Array(0x80...0xff) + line + [0x00] + line)
        #expect(texts(file) == ["www.example.com 192.0.2.1"])
        #expect(
            problems(file) == ["1: does not begin with an IP address", "3: does not begin with an IP address"])
        let badName = HostsFile(Array("192.0.2.1 ".utf8) + [0xff, 0xfe] + Array(" www.example.com".utf8))
        #expect(texts(badName) == ["www.example.com 192.0.2.1"])
        #expect(badName.problems.map(\.line) == [1])
    }

    @Test func `the file of the configuration is read, and its bad lines are warnings that name it`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "192.0.2.1 www.example.com\nbad\n".write(toFile: path, atomically: true, encoding: .utf8)
        let loaded = try accepted(minimal + "[preset]\nhosts_file = \"\(path)\"")
        #expect(loaded.configuration.preset.hosts.map(\.name) == [try Name("www.example.com")])
        #expect(loaded.warnings.map(\.description) == ["\(path):2: does not begin with an IP address"])
    }

    @Test(arguments: ["/nowhere/hosts", "/", "/dev/zero"])
    func `a file that cannot be read is a warning, and no reason to serve nothing`(path: String) throws {
        let loaded = try accepted(minimal + "[preset]\nhosts_file = \"\(path)\"")
        #expect(loaded.configuration.preset.hosts.isEmpty)
        #expect(loaded.warnings.count == 1)
        #expect(loaded.warnings.first?.line != nil)
        #expect(loaded.warnings.first?.description.contains("preset.hosts_file: \"\(path)\" ") == true)
    }

    @Test func `a preset that can have no effect is warned about`() throws {
        let loaded = try accepted(
            minimal + """
                [preset]
                always = { "a.localhost" = ["192.0.2.1"], "x.example" = ["192.0.2.1"] }
                last_resort = { "x.example" = ["192.0.2.2"], "*.x.example" = ["192.0.2.2"] }
                """)
        #expect(
            loaded.warnings.map(\.description) == [
                "t.toml:5: preset.always: \"a.localhost\" has no effect: it means the same everywhere",
                "t.toml:6: preset.last_resort: \"x.example\" has no effect: preset.always has it too",
            ])
    }
}
