/// One run of the real `dig`.
package struct Dig: Sendable {
    package struct Answer: Sendable, Equatable {
        package var name: String
        package var ttl: Int
        package var type: String
        package var data: String
    }

    /// The RCODE's name, such as `NOERROR`; empty without a response.
    package var status = ""
    /// Such as `qr`, `rd`, `ra`, `tc`.
    package var flags: Set<String> = []
    package var answers: [Answer] = []
    package var authorities: [Answer] = []
    /// Codes of extended errors.
    package var extendedErrors: [Int] = []
    /// `UDP` or `TCP`, of the last response.
    package var transport = ""
    /// Whether a response was truncated and the question asked again over TCP.
    package var wasTruncated = false
    /// Its whole output.
    package var text: String
    package var exitStatus: Int32

    /// The addresses in the answer section, sorted: in which order they come changes from response to response.
    package var addresses: [String] { addressesInOrder.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) } }
    /// The same in the order of the response.
    package var addressesInOrder: [String] { answers.filter { $0.type == "A" || $0.type == "AAAA" }.map(\.data) }

    /// Asks `server`.
    ///
    /// - Parameters:
    ///   - options: such as `+tcp`, `+bufsize=512`.
    ///   - namespace: where to run it.
    package init(
        _ server: TestAddress, _ name: String, _ type: String = "A", _ options: [String] = [],
        namespace: NetworkNamespace? = nil
    ) throws {
        let command =
            ["dig", "-r", "@" + server.host, "-p", "\(server.port)", "+tries=1", "+timeout=60"] + options + [
                name, type,
            ]
        let outcome = try ChildProcess.run((namespace?.prefix ?? []) + command)
        text = outcome.output
        exitStatus = outcome.status
        var section = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { read(line, &section) }
    }

    private mutating func read(_ line: Substring, _ section: inout String) {
        func value(after mark: String, upTo end: Character) -> Substring? {
            line.firstRange(of: mark).map { line[$0.upperBound...].prefix { $0 != end } }
        }
        if line.isEmpty {
            section = ""
        } else if line.hasPrefix(";; ->>HEADER<<-") {
            status = String(value(after: "status: ", upTo: ",") ?? "")
        } else if line.hasPrefix(";; flags:") {
            flags = Set((value(after: "flags: ", upTo: ";") ?? "").split(separator: " ").map(String.init))
        } else if line.hasPrefix("; EDE: ") {
            extendedErrors += [Int(line.dropFirst(7).prefix { $0.isNumber })].compactMap { $0 }
        } else if line.hasPrefix(";; SERVER: ") {
            transport = line.hasSuffix("(TCP)") ? "TCP" : "UDP"
        } else if line.hasPrefix(";; Truncated") {
            wasTruncated = true
        } else if line.hasPrefix(";; ") && line.hasSuffix(" SECTION:") {
            section = String(line)
        } else if !line.hasPrefix(";") {
            let fields = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard fields.count >= 5, let ttl = Int(fields[1]) else { return }
            let answer = Answer(
                name: String(fields[0]), ttl: ttl, type: String(fields[3]),
                data: fields[4...].joined(separator: " "))
            if section.contains("ANSWER") { answers.append(answer) }
            if section.contains("AUTHORITY") { authorities.append(answer) }
        }
    }
}
