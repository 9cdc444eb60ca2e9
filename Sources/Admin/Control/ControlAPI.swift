import DNSCache
import DNSResolver
package import DNSServer
import DNSWire
import HTTPDNS
package import Scheduling

/// The endpoints: GET reads, POST changes. Documented in Documentation/Control.md.
@Loop
package struct ControlAPI: AdminService {
    /// The most bytes of a body; the longest useful one has some 300.
    nonisolated static let bodyLimit = 4_096
    /// The most cached answers in one report, and the number unless the request has another.
    nonisolated static let pageLimit = 1_000
    nonisolated static let defaultPage = 100

    private let target: any ControlTarget

    package nonisolated init(target: any ControlTarget) { self.target = target }

    /// Executes the request; every fault of it becomes a response.
    package func response(to request: HTTPServerRequest) async -> HTTPServerResponse {
        guard request.body.count <= Self.bodyLimit else {
            return .fault(.contentTooLarge, "a body has at most \(Self.bodyLimit) bytes", to: request)
        }
        do throws(Fault) {
            switch String(decoding: request.path, as: UTF8.self) {
            case "/v1/status":
                try request.allow(parameters: [])
                let status = target.status
                return HTTPServerResponse(
                    status.json, CommandOutput(status.text), rows: target.testimony(of: status), to: request)
            case "/v1/policy":
                try request.allow(parameters: [])
                let policy = target.status.policy
                return HTTPServerResponse(policy.json, CommandOutput(policy.text), to: request)
            case "/v1/cache": return try await list(request)
            case "/v1/cache/entry": return try await show(request)
            case "/v1/why":
                let report = target.why(try Self.name(request.allow(parameters: ["name"])["name"], "name"))
                return HTTPServerResponse(report.json, CommandOutput(report.lines.joined(separator: "\n")), to: request)
            case "/v1/trace": return try await trace(request)
            case "/v1/queries": return try queries(request)
            case "/v1/cache/flush": return try await flush(request)
            case "/v1/switch": return try await turn(request)
            case "/v1/badips":
                try request.allow(parameters: [])
                let report = target.badAddresses
                return HTTPServerResponse(report.json, CommandOutput(report.text), to: request)
            case "/v1/badips/add": return try await reportBad(request)
            case "/v1/badips/remove": return try await forgetBad(request)
            case "/v1/reload": return try await reload(request)
            case "/v1/handover":
                _ = try request.members([:])
                guard let count = await target.handOver() else {
                    throw Fault(.unavailable, "the server is stopping, or no process takes over its sockets")
                }
                let object = JSONWriter.object { $0.member("sockets", count) }
                return HTTPServerResponse(object, CommandOutput(""), to: request)
            case let path: throw Fault(.notFound, "there is no \(path)")
            }
        } catch {
            return .fault(error.status, error.text, to: request)
        }
    }

    private func list(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        let parameters = try request.allow(parameters: ["suffix", "limit", "cursor", "records"])
        let limit = try Self.number(parameters["limit"], "limit", 1...Self.pageLimit) ?? Self.defaultPage
        let suffix = try parameters["suffix"].map { text throws(Fault) in try Self.name(text, "suffix") }
        guard ["true", nil].contains(parameters["records"]) else { throw Fault(.badRequest, "records: must be true") }
        let page = await target.cached(
            below: suffix, limit: limit, cursor: parameters["cursor"], withRecords: parameters["records"] != nil)
        guard let report = page else { throw Fault(.badRequest, "cursor: not one that was given") }
        var response =
            switch ReportForm(request) {
            case .json, .text:
                HTTPServerResponse(
                    report.json, CommandOutput(CacheReport.listText(report.entries.map(\.row))), to: request)
            case let form: HTTPServerResponse(.ok, form, report.entries.map { $0.line(form) })
            }
        if let next = report.next { response.fields.append(("next", next)) }
        return response
    }

    private func reload(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        guard request.method == .post else {
            try request.allow(parameters: [])
            let report = await target.tryReload()
            return HTTPServerResponse(report.json, report.output, rows: report.rows, to: request)
        }
        _ = try request.members([:])
        let report = await target.reload()
        return HTTPServerResponse(
            report.json, report.output, to: request, status: report.errors.isEmpty ? .ok : .unprocessable)
    }

    /// Everything of one name, or the answers of some types to queries without DNSSEC's bits.
    private func show(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        let parameters = try request.allow(parameters: ["name", "types"])
        let types = try parameters["types"]?.split(separator: ",").map { text throws(Fault) in
            try Self.type(String(text), "types").description
        }
        var report = await target.cached(try Self.name(parameters["name"], "name"))
        if let types { report.entries.removeAll { !types.contains($0.type) || $0.isSigned } }
        return HTTPServerResponse(report.json, report.output(for: parameters["name"] ?? "", types), to: request)
    }

    /// The queries as they are answered, without an end.
    private func queries(_ request: HTTPServerRequest) throws(Fault) -> HTTPServerResponse {
        let parameters = try request.allow(parameters: ["suffix", "client", "source", "slower_ms"])
        var filter = QueryFilter()
        if ReportForm(request) == .text { filter.form = .text }
        filter.suffix = try parameters["suffix"].map { text throws(Fault) in try Self.name(text, "suffix") }
        if let source = parameters["source"] {
            let known = target.querySources
            // A misspelt one would show nothing, as if nothing were asked.
            guard known.contains(source) else {
                throw Fault(.badRequest, "source: there is no \"\(source)\", but: \(known.joined(separator: ", "))")
            }
            filter.source = source
        }
        if let text = parameters["client"] {
            guard let network = AddressPrefix(text) else {
                throw Fault(.badRequest, "client: not an address, or a network such as 192.0.2.0/24")
            }
            filter.network = network
        }
        let slowest = Int(QueryFilter.slowest / .milliseconds(1))
        filter.slower = try Self.number(parameters["slower_ms"], "slower_ms", 0...slowest).map { .milliseconds($0) }
        guard let listener = target.listen(for: filter) else {
            throw Fault(.unavailable, "\(QueryListeners.limit) clients are shown queries already, and no more can be")
        }
        var response = HTTPServerResponse(.ok, filter.form, [])
        response.feed = HTTPServerFeed(
            every: .milliseconds(100), isPatient: true, wasRead: { listener.wasRead() }
        ) { listener.take() }
        return response
    }

    private func trace(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        let members = try request.members(["name": .string, "type": .string])
        let name = try Self.name(members["name"]?.text, "name")
        let type = try members["type"]?.text.map { text throws(Fault) in try Self.type(text, "type") }
        let report = await target.trace(Question(name: name, type: type ?? .a))
        return HTTPServerResponse(
            report.json, CommandOutput(report.text, exitStatus: report.isAnswer ? 0 : 1), to: request)
    }

    private func flush(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        let members = try request.members(["name": .string, "suffix": .string, "all": .boolean])
        guard members.count == 1, let (key, value) = members.first else {
            throw Fault(.badRequest, "one of name, suffix and all is needed, and only one")
        }
        let what: AnswerRemoval
        switch value {
        case .string(let text) where key == "name": what = .name(try Self.name(text, key))
        case .string(let text): what = .suffix(try Self.name(text, key))
        case .boolean(true): what = .all
        case .boolean(false), .integer: throw Fault(.badRequest, "all: must be true")
        }
        let count = await target.flush(what)
        let object = JSONWriter.object { $0.member("removed", count) }
        return HTTPServerResponse(object, CommandOutput(counted(count, "answer") + " forgotten"), to: request)
    }

    private func turn(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        guard let word = try request.members(["switch": .string])["switch"]?.text, ["on", "off"].contains(word) else {
            throw Fault(.badRequest, "switch: must be \"on\" or \"off\"")
        }
        let report = await target.turn(on: word == "on")
        return HTTPServerResponse(report.json, CommandOutput(report.text), to: request)
    }

    private func reportBad(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        let members = try request.members(["address": .string, "seconds": .number])
        let (address, written) = try Self.address(members["address"])
        var lifetime = BadAddresses.defaultLifetime
        if case .integer(let seconds)? = members["seconds"] {
            let longest = BadAddresses.lifetimes.upperBound.components.seconds
            guard let seconds = seconds.within(1...longest) else {
                throw Fault(.badRequest, "seconds: must be 1 to \(longest)")
            }
            lifetime = .seconds(seconds)
        }
        let report = await target.reportBad(address, lifetime: lifetime)
        let forgotten = counted(report.removed, "cached answer") + " forgotten"
        return HTTPServerResponse(
            report.json, CommandOutput("\(written) goes to the end of answers; \(forgotten)"), to: request)
    }

    private func forgetBad(_ request: HTTPServerRequest) async throws(Fault) -> HTTPServerResponse {
        let (address, written) = try Self.address(try request.members(["address": .string])["address"])
        guard let report = await target.forgetBad(address) else { throw Fault(.notFound, "\(address) is not reported") }
        return HTTPServerResponse(report.json, CommandOutput("\(written) is as good as any other"), to: request)
    }

    private nonisolated static func name(_ text: String?, _ key: String) throws(Fault) -> Name {
        guard let text else { throw Fault(.badRequest, "\(key): missing") }
        do throws(NameError) {
            return try Name(text).lowercased
        } catch {
            throw Fault(.badRequest, "\(key): not a name: \(error)")
        }
    }

    private nonisolated static func number(
        _ text: String?, _ key: String, _ range: ClosedRange<Int>
    ) throws(Fault) -> Int? {
        guard let text else { return nil }
        guard let number = OutsideNumber(digits: text)?.within(range) else {
            throw Fault(.badRequest, "\(key): not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private nonisolated static func type(_ text: String, _ key: String) throws(Fault) -> RecordType {
        guard let type = RecordType(text), !type.isMeta else {
            throw Fault(.badRequest, "\(key): not one that can be looked up, such as A, AAAA or MX")
        }
        return type
    }

    /// An address, and how it is written.
    private nonisolated static func address(
        _ value: HTTPServerRequest.Value?
    ) throws(Fault) -> (IPAddress, written: String) {
        guard let text = value?.text, let address = IPAddress(text) else {
            throw Fault(.badRequest, "address: must be an IP address")
        }
        return (address, text)
    }
}

/// A fault of a request.
private struct Fault: Error {
    let status: HTTPServerResponse.Status
    let text: String

    init(_ status: HTTPServerResponse.Status, _ text: String) { (self.status, self.text) = (status, text) }
}

extension HTTPServerRequest {
    /// The value of a member of a body.
    fileprivate enum Value {
        case string(String)
        case integer(OutsideNumber)
        case boolean(Bool)

        /// Nil for anything but a string.
        var text: String? { if case .string(let text) = self { text } else { nil } }
    }

    /// The decoded parameters of the query, the last of equal ones; nil when one is not text.
    var parameters: [String: String]? {
        RequestTarget(target).map { target in
            target.parameters.reduce(into: [:]) { parameters, pair in parameters[pair.name] = pair.value }
        }
    }

    /// The parameters of a request that reads. Refuses unknown ones: a misspelt parameter must not widen the request.
    @discardableResult
    fileprivate func allow(parameters known: Set<String>, _ method: Method = .get) throws(Fault) -> [String: String] {
        guard self.method == method else { throw Fault(.methodNotAllowed, "this method means nothing here") }
        guard let parameters else { throw Fault(.badRequest, "a parameter is not text") }
        if let unknown = parameters.keys.first(where: { !known.contains($0) }) {
            throw Fault(.badRequest, "\(unknown): unknown parameter")
        }
        return parameters
    }

    /// The members of the body of a request that changes something, one object; an empty body counts as an empty object.
    /// Refuses unknown members.
    fileprivate func members(_ known: [String: JSONReader.Kind]) throws(Fault) -> [String: Value] {
        try allow(parameters: [], .post)
        guard !body.isEmpty else { return [:] }
        var members: [String: Value] = [:]
        var unknown: String?
        do throws(JSONError) {
            try JSONReader.read(body) { reader throws(JSONError) in
                try reader.object { reader, key throws(JSONError) in
                    switch known[key] {
                    case .string?: members[key] = .string(try reader.string())
                    case .number?: members[key] = .integer(try reader.integer())
                    case .boolean?: members[key] = .boolean(try reader.boolean())
                    default: unknown = key
                    }
                }
            }
        } catch {
            throw Fault(.badRequest, "the body is not as expected: \(error)")
        }
        if let unknown { throw Fault(.badRequest, "\(unknown): unknown member") }
        return members
    }
}
