// Any bytes as a file like /etc/hosts: each line is read or reported within the limits, no name is there twice, and the
// entries, written as such a file again, are read as the same.

@testable import Configuration
import DNSWire

func fuzzHostsFile(_ bytes: [UInt8]) {
    let file = HostsFile(bytes)

    let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
    precondition(Set(file.entries.map(\.name)).count == file.entries.count, "a name is there twice")
    for entry in file.entries {
        precondition(!entry.isWildcard && !entry.name.isFixed, "a name that such a file cannot set")
        precondition(entry.name == entry.name.lowercased, "a name with capital letters")
        precondition((1...HostsFile.maximumAddresses).contains(entry.addresses.count), "too few or many addresses")
        precondition(Set(entry.addresses).count == entry.addresses.count, "an address is there twice")
    }
    precondition(file.problems.count <= HostsFile.reportedLines + 2, "more problems than are reported")
    precondition(file.problems.allSatisfy { $0.line.map((1...lines).contains) ?? true }, "a line that is none")

    let text = file.entries.flatMap { entry in entry.addresses.map { "\($0) \(entry.name)\n" } }.joined()
    // In a name of the file a # would begin a comment.
    guard !text.contains("#") else { return }
    let again = HostsFile(Array(text.utf8))
    precondition(again.entries == file.entries && again.problems.isEmpty, "another file, written again")
}
