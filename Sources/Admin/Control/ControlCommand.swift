public import DNSCache
import DNSResolver
import DNSServer
public import DNSWire
import HTTPDNS

/// What a request of the control API wants, read and checked: GET reads, POST changes. Documented in Documentation/Control.md.
public enum ControlCommand: Equatable, Sendable {
    /// What the server is and does, and the signed policy.
    case status, policy
    /// Answers of the names below `suffix`, or all: at least one, from where an earlier report ended, with all their records or
    /// with addresses alone.
    case list(below: Name?, limit: Int, cursor: String?, withRecords: Bool)
    /// Answers of one name with their records: all, or those of some types to queries without DNSSEC's bits.
    case show(Name, types: [String]?, written: String)
    /// What is cached of a name, how its questions failed last, and which forged addresses it had.
    case why(Name)
    /// Answers a question as that of a client of this machine, and tells how.
    case trace(Question)
    /// Forgets cached answers.
    case flush(AnswerRemoval)
    /// Switches HTTPDNS on or off.
    case turn(on: Bool)
    /// The addresses that are reported as bad.
    case badAddresses
    /// Counts a report for `lifetime`, and removes the answers that contain the address.
    case reportBad(IPAddress, lifetime: Duration, written: String)
    /// Withdraws the reports of an address.
    case forgetBad(IPAddress, written: String)
    /// What `reload` would say; nothing changes.
    case tryReload
    /// Reads the configuration again.
    case reload

    /// The most cached answers in one report, and the number unless the request has another.
    static let pageLimit = 1_000
    static let defaultPage = 100

    init(_ request: HTTPServerRequest) throws(ControlFault) {
        switch String(decoding: request.path, as: UTF8.self) {
        case "/v1/status": self = try request.reads(.status)
        case "/v1/policy": self = try request.reads(.policy)
        case "/v1/cache":
            let wanted = try request.parameters(["suffix", "limit", "cursor", "records"])
            let limit = try wanted.number("limit", 1...Self.pageLimit) ?? Self.defaultPage
            guard ["true", nil].contains(wanted.text("records")) else {
                throw .wrong("records: must be true")
            }
            self = .list(
                below: try wanted.name("suffix"), limit: limit, cursor: wanted.text("cursor"),
                withRecords: wanted.text("records") != nil)
        case "/v1/cache/entry":
            let wanted = try request.parameters(["name", "types"])
            let types = try wanted.text("types")?.split(separator: ",").map { text throws(ControlFault) in
                try RequestValues.type(String(text), "types").description
            }
            self = .show(try wanted.name(), types: types, written: wanted.text("name") ?? "")
        case "/v1/why": self = .why(try request.parameters(["name"]).name())
        case "/v1/trace":
            let wanted = try request.members(["name": .string, "type": .string])
            self = .trace(
                Question(name: try wanted.name(), type: try RequestValues.type(wanted.text("type") ?? "A", "type")))
        case "/v1/cache/flush": self = .flush(try Self.removal(request))
        case "/v1/switch":
            let word = try request.members(["switch": .string]).text("switch")
            guard let word, ["on", "off"].contains(word) else {
                throw .wrong("switch: must be \"on\" or \"off\"")
            }
            self = .turn(on: word == "on")
        case "/v1/badips": self = try request.reads(.badAddresses)
        case "/v1/badips/add":
            let wanted = try request.members(["address": .string, "seconds": .number])
            let (address, written) = try wanted.address()
            let longest = BadAddresses.lifetimes.upperBound.components.seconds
            var lifetime = BadAddresses.defaultLifetime
            if case .number(let seconds)? = wanted.values["seconds"] {
                guard let seconds = seconds.within(1...longest) else {
                    throw .wrong("seconds: must be 1 to \(longest)")
                }
                lifetime = .seconds(seconds)
            }
            self = .reportBad(address, lifetime: lifetime, written: written)
        case "/v1/badips/remove":
            let (address, written) = try request.members(["address": .string]).address()
            self = .forgetBad(address, written: written)
        case "/v1/reload": self = request.method == .post ? try request.changes(.reload) : try request.reads(.tryReload)
        case let path: throw .notFound("there is no \(path)")
        }
    }

    /// Whether it changes what the next process is to find.
    public var isChange: Bool {
        switch self {
        case .flush, .turn, .reportBad, .forgetBad, .reload: true
        case .status, .policy, .list, .show, .why, .trace, .badAddresses, .tryReload: false
        }
    }

    private static func removal(_ request: HTTPServerRequest) throws(ControlFault) -> AnswerRemoval {
        let wanted = try request.members(["name": .string, "suffix": .string, "all": .boolean])
        guard wanted.values.count == 1 else {
            throw .wrong("one of name, suffix and all is needed, and only one")
        }
        if let suffix = try wanted.name("suffix") { return .suffix(suffix) }
        guard let all = wanted.values["all"] else { return .name(try wanted.name()) }
        guard case .boolean(true) = all else { throw .wrong("all: must be true") }
        return .all
    }
}

/// A fault of a request.
public struct ControlFault: Error {
    let status: HTTPServerResponse.Status
    let text: String

    init(_ status: HTTPServerResponse.Status, _ text: String) { (self.status, self.text) = (status, text) }

    /// What is named is not there.
    public static func notFound(_ text: String) -> ControlFault { ControlFault(.notFound, text) }

    /// What is named makes no sense.
    public static func wrong(_ text: String) -> ControlFault { ControlFault(.badRequest, text) }

    /// It cannot be done now.
    public static func unavailable(_ text: String) -> ControlFault { ControlFault(.unavailable, text) }
}

/// What a request says, by its keys: the parameters of its query, or the members of its body.
struct RequestValues {
    fileprivate(set) var values: [String: JSONNode.Content] = [:]

    /// Nil for anything but a string.
    func text(_ key: String) -> String? { if case .string(let text)? = values[key] { text } else { nil } }

    /// A name, in lower case; nil where there is none.
    func name(_ key: String) throws(ControlFault) -> Name? {
        guard let text = text(key) else { return nil }
        do throws(NameError) {
            return try Name(typed: text).lowercased
        } catch {
            throw .wrong("\(key): not a name: \(error)")
        }
    }

    /// The name that the request is about.
    func name() throws(ControlFault) -> Name {
        guard let name = try name("name") else { throw .wrong("name: missing") }
        return name
    }

    func number(_ key: String, _ range: ClosedRange<Int>) throws(ControlFault) -> Int? {
        guard let text = text(key) else { return nil }
        guard let number = OutsideNumber(digits: text)?.within(range) else {
            throw .wrong("\(key): not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func type(_ text: String, _ key: String) throws(ControlFault) -> RecordType {
        guard let type = RecordType(text), !type.isMeta else {
            throw .wrong("\(key): not one that can be looked up, such as A, AAAA or MX")
        }
        return type
    }

    /// The address that the request is about, IPv4 where it is a mapped one, and how it is written.
    func address() throws(ControlFault) -> (IPAddress, written: String) {
        guard let text = text("address"), let address = IPAddress(text) else {
            throw .wrong("address: must be an IP address")
        }
        return (address.mapped ?? address, text)
    }
}

/// The kind of a member of a body.
private enum MemberKind {
    case string, number, boolean
}

extension HTTPServerRequest {
    /// The decoded parameters of the query, the last of equal ones; nil when one is not text.
    var parameters: [String: String]? {
        RequestTarget(target).map { target in
            target.parameters.reduce(into: [:]) { parameters, pair in parameters[pair.name] = pair.value }
        }
    }

    /// The parameters of a request that reads. Refuses unknown ones: a misspelt parameter must not widen the request.
    func parameters(_ known: Set<String>, _ method: Method = .get) throws(ControlFault) -> RequestValues {
        guard self.method == method else { throw ControlFault(.methodNotAllowed, "this method means nothing here") }
        guard let parameters else { throw .wrong("a parameter is not text") }
        if let unknown = parameters.keys.first(where: { !known.contains($0) }) {
            throw .wrong("\(unknown): unknown parameter")
        }
        return RequestValues(values: parameters.mapValues { .string($0) })
    }

    /// The members of the body of a request that changes something, one object; an empty body counts as an empty object.
    /// Refuses unknown members.
    fileprivate func members(_ known: [String: MemberKind]) throws(ControlFault) -> RequestValues {
        var members = try parameters([], .post)
        guard !body.isEmpty else { return members }
        var unknown: String?
        do throws(JSONError) {
            for (key, value) in try JSONReader.read(body).members() where members.values[key] == nil {
                switch (known[key], value.content) {
                case (.string?, .string), (.number?, .number), (.boolean?, .boolean):
                    members.values[key] = value.content
                case (nil, _): unknown = key
                default: throw value.fault(.wrongKind)
                }
            }
        } catch {
            throw .wrong("the body is not as expected: \(error)")
        }
        if let unknown { throw .wrong("\(unknown): unknown member") }
        return members
    }

    /// A command that reads and has no parameters.
    fileprivate func reads(_ command: ControlCommand) throws(ControlFault) -> ControlCommand {
        _ = try parameters([])
        return command
    }

    /// A command that changes something and has no members.
    fileprivate func changes(_ command: ControlCommand) throws(ControlFault) -> ControlCommand {
        _ = try members([:])
        return command
    }
}
