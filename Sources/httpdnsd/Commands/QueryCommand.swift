import Admin
import ArgumentParser
import Configuration
import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS
import Platform

/// `httpdnsd query`: asks the sources once, as the server would with an empty cache, and says which source answered.
struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Looks a name up once, without the server, and says which source answered.",
        discussion: """
            Where a service answers A and AAAA in one call, asking for both makes one call, as the server does.

            With --trace the running server is asked, as by a client, over its control socket, and tells step by step how it \
            came to its answer: the list that decides, the cache, each source, certificates, and for how long it is cached.

            With --via cache no source is asked: the answer comes from the cache of the running server, over its control socket.

            Exit status 1 if there is no answer for any of the types.
            """)

    @OptionGroup var control: ControlOptions

    @Argument(help: "The name.")
    var name: String?

    @Argument(help: "The types, such as A, AAAA, MX or TYPE65; A unless given.")
    var types: [String] = []

    @Option(
        name: .customShort("x"),
        help: .init(
            "Look up the name of this address, instead of a name; the type is PTR unless given.", valueName: "address"))
    var address: String?

    @Option(
        help: .init("Ask only this: httpdns, localdns, cache, or a provider by its name.", valueName: "source"),
        completion: .list(["httpdns", "localdns", "cache"]))
    var via: String?

    @Flag(help: "Ask the running server, and print how it came to its answer.")
    var trace = false

    func validate() throws {
        if trace, via != nil { throw ValidationError("--trace and --via: the server chooses its sources itself") }
        if let address, IPAddress(address) == nil { throw ValidationError("-x \(address): not an IP address") }
        if address == nil, name == nil { throw ValidationError("Say what to look up: a NAME, or -x ADDRESS.") }
        if let host = subject.urlHost {
            throw ValidationError("\(subject): a URL, not a name\(host.isEmpty ? "" : "; ask for \(host)")")
        }
        try checkName(subject)
        for type in typeTexts {
            guard let type = RecordType(type), !type.isMeta else {
                throw ValidationError("\(type): not a type that can be looked up, such as A, AAAA or MX")
            }
        }
    }

    func run() throws {
        if via == "cache" {
            let types = recordTypes.map(\.description).joined(separator: ",")
            return try control.run("/v1/cache/entry", [("name", subject), ("types", types)])
        }
        if trace { return try traceAnswers() }
        let written = try control.file.load().configuration
        let settings = ExaminedPolicy(written).inForce?.applied(to: written) ?? written
        let known = ["httpdns", "localdns", "cache"] + settings.providers.map(\.name)
        if let via, !known.contains(via) {
            throw CommandFailure(
                "--via \(via): no such source; there are \(known.joined(separator: ", "))", exitCode: .usage)
        }
        let name = try Name(subject)
        let questions = recordTypes.map { Question(name: name, type: $0) }
        let results = try SourceVisit.results(for: questions, via: via, by: settings)
        for result in results { show(VisibleText(lines: control.json ? result.json : result.text)) }
        if !results.contains(where: \.isAnswer) { throw ExitCode.no }
    }
}

extension QueryCommand {
    /// The name to look up.
    private var subject: String { address.flatMap { IPAddress($0)?.reverseName } ?? name ?? "" }

    /// The types as written. With an address no name is given, so the first argument is one of them.
    private var typeTexts: [String] {
        let written = (address == nil ? [] : [name].compactMap { $0 }) + types
        return written.isEmpty ? [address == nil ? "A" : "PTR"] : written
    }

    /// What is asked for, each once.
    private var recordTypes: [RecordType] {
        typeTexts.compactMap { RecordType($0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Prints how the running server answers, for each type.
    private func traceAnswers() throws {
        var hasAnswer = false
        for type in recordTypes {
            let reply = try control.client().post("/v1/trace", as: control.form) { writer in
                writer.member("name", subject)
                writer.member("type", type.description)
            }
            show(reply)
            if reply.exitStatus == 0 { hasAnswer = true }
        }
        if !hasAnswer { throw ExitCode.no }
    }
}

extension String {
    /// The host of a URL, empty without a name; nil for a text that is none.
    fileprivate var urlHost: String? {
        guard let scheme = firstRange(of: "://") else { return nil }
        let authority = self[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        // An IPv6 address is no name to ask for.
        return host.hasPrefix("[") ? "" : String(host.prefix { $0 != ":" })
    }
}

extension IPAddress {
    /// Its name in the reverse tree (RFC 1035 section 3.5, RFC 3596 section 2.5).
    fileprivate var reverseName: String {
        switch self {
        case .v4: bytes.reversed().map { "\($0)." }.joined() + "in-addr.arpa"
        case .v6:
            bytes.reversed().flatMap { [$0 & 15, $0 >> 4] }.map { String($0, radix: 16) + "." }.joined() + "ip6.arpa"
        }
    }
}
