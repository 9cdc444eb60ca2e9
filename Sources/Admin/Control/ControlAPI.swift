import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// The endpoints: GET reads, POST changes. Documented in Documentation/Control.md.
@Loop
struct ControlAPI: RequestHandler {
    /// The most cached answers in one report, and the number unless the request has another.
    nonisolated static let pageLimit = 1_000
    nonisolated static let defaultPage = 100

    let target: any ControlTarget

    func respond(to request: ControlRequest) async -> ControlResponse {
        do throws(Fault) {
            switch (request.method, request.path) {
            case ("GET", "/v1/status"):
                try request.allow(parameters: [])
                return ControlResponse(target.status)
            case ("GET", "/v1/cache"): return try await list(request)
            case ("GET", "/v1/cache/entry"): return try await show(request)
            case ("GET", "/v1/why"): return try why(request)
            case ("POST", "/v1/trace"): return try await trace(request)
            case ("GET", "/v1/queries"): return try queries(request)
            case ("POST", "/v1/cache/flush"): return try await flush(request)
            case ("POST", "/v1/switch"): return try await turn(request)
            case ("GET", "/v1/badips"):
                try request.allow(parameters: [])
                return ControlResponse(target.badAddresses)
            case ("POST", "/v1/badips/add"): return try await reportBad(request)
            case ("POST", "/v1/badips/remove"): return try await forgetBad(request)
            case ("GET", "/v1/reload"):
                try request.allow(parameters: [])
                return ControlResponse(await target.tryReload())
            case ("POST", "/v1/reload"):
                _ = try request.members([:])
                let report = await target.reload()
                return ControlResponse(report, status: report.errors.isEmpty ? 200 : 422)
            case ("POST", "/v1/handover"):
                _ = try request.members([:])
                guard let report = await target.handOver() else {
                    throw Fault(503, "the server is stopping, or no process takes over its sockets")
                }
                return ControlResponse(report)
            case (_, let path) where Self.paths.contains(path):
                throw Fault(405, "\(request.method) means nothing here")
            default: throw Fault(404, "there is no \(request.path)")
            }
        } catch {
            return .fault(error.status, error.text)
        }
    }

    private nonisolated static let paths: Set<String> = [
        "/v1/status", "/v1/cache", "/v1/cache/entry", "/v1/why", "/v1/trace", "/v1/queries", "/v1/cache/flush",
        "/v1/switch",
        "/v1/badips",
        "/v1/badips/add",
        "/v1/badips/remove", "/v1/reload", "/v1/handover",
    ]

    private func list(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        let parameters = try request.allow(parameters: ["suffix", "limit", "cursor", "records"])
        var limit = Self.defaultPage
        if let text = parameters["limit"] {
            guard let number = OutsideNumber(digits: text)?.within(1...Self.pageLimit) else {
                throw Fault(400, "limit: not a number from 1 to \(Self.pageLimit)")
            }
            limit = number
        }
        let suffix = try parameters["suffix"].map { text throws(Fault) in try Self.name(text, "suffix") }
        let cursor = parameters["cursor"]
        guard ["true", nil].contains(parameters["records"]) else { throw Fault(400, "records: must be true") }
        let withRecords = parameters["records"] != nil
        guard
            let report = await target.cached(below: suffix, limit: limit, cursor: cursor, withRecords: withRecords)
        else {
            throw Fault(400, "cursor: not one that was given")
        }
        return ControlResponse(report)
    }

    private func show(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        guard let text = try request.allow(parameters: ["name"])["name"] else { throw Fault(400, "name: missing") }
        return ControlResponse(await target.cached(try Self.name(text, "name")))
    }

    private func why(_ request: ControlRequest) throws(Fault) -> ControlResponse {
        guard let text = try request.allow(parameters: ["name"])["name"] else { throw Fault(400, "name: missing") }
        return ControlResponse(target.why(try Self.name(text, "name")))
    }

    /// The queries as they are answered, without an end.
    private func queries(_ request: ControlRequest) throws(Fault) -> ControlResponse {
        let parameters = try request.allow(parameters: ["suffix", "client", "source", "slower_ms"])
        var filter = QueryFilter()
        filter.suffix = try parameters["suffix"].map { text throws(Fault) in try Self.name(text, "suffix") }
        if let source = parameters["source"] {
            let known = target.querySources
            // A misspelt one would show nothing, as if nothing were asked.
            guard known.contains(source) else {
                throw Fault(400, "source: there is no \"\(source)\", but: \(known.joined(separator: ", "))")
            }
            filter.source = source
        }
        if let text = parameters["client"] {
            guard let network = AddressPrefix(text) else {
                throw Fault(400, "client: not an address, or a network such as 192.0.2.0/24")
            }
            filter.network = network
        }
        if let text = parameters["slower_ms"] {
            let limit = Int64(QueryFilter.slowest / .milliseconds(1))
            guard let number = OutsideNumber(digits: text)?.within(0...limit) else {
                throw Fault(400, "slower_ms: not a number from 0 to \(limit)")
            }
            filter.slower = .milliseconds(number)
        }
        guard let listener = target.listen(for: filter) else {
            throw Fault(503, "\(QueryListeners.limit) clients are shown queries already, and no more can be")
        }
        var response = ControlResponse(status: 200, body: "", contentType: "application/x-ndjson")
        response.parts = ControlParts(
            interval: .milliseconds(100), isPatient: true, wasRead: { listener.wasRead() }
        ) { listener.take() }
        return response
    }

    private func trace(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        let members = try request.members(["name": .string, "type": .string])
        guard case .string(let text)? = members["name"] else { throw Fault(400, "name: missing") }
        var type = RecordType.a
        if case .string(let text)? = members["type"] {
            guard let known = RecordType(text), !known.isMeta else {
                throw Fault(400, "type: not one that can be looked up, such as A, AAAA or MX")
            }
            type = known
        }
        return ControlResponse(await target.trace(Question(name: try Self.name(text, "name"), type: type)))
    }

    private func flush(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        let members = try request.members(["name": .string, "suffix": .string, "all": .boolean])
        guard members.count == 1, let (key, value) = members.first else {
            throw Fault(400, "one of name, suffix and all is needed, and only one")
        }
        switch value {
        case .string(let text):
            let name = try Self.name(text, key)
            return ControlResponse(await target.flush(key == "name" ? .name(name) : .suffix(name)))
        case .boolean(true): return ControlResponse(await target.flush(.all))
        case .boolean(false), .integer: throw Fault(400, "all: must be true")
        }
    }

    private func turn(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        switch try request.members(["switch": .string])["switch"] {
        case .string("on")?: return ControlResponse(await target.turn(on: true))
        case .string("off")?: return ControlResponse(await target.turn(on: false))
        default: throw Fault(400, "switch: must be \"on\" or \"off\"")
        }
    }

    private func reportBad(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        let members = try request.members(["address": .string, "seconds": .number])
        let address = try Self.address(members["address"])
        var lifetime = BadAddresses.defaultLifetime
        if case .integer(let seconds)? = members["seconds"] {
            let longest = BadAddresses.lifetimes.upperBound.components.seconds
            guard let seconds = seconds.within(1...longest) else {
                throw Fault(400, "seconds: must be 1 to \(longest)")
            }
            lifetime = .seconds(seconds)
        }
        return ControlResponse(await target.reportBad(address, lifetime: lifetime))
    }

    private func forgetBad(_ request: ControlRequest) async throws(Fault) -> ControlResponse {
        let address = try Self.address(try request.members(["address": .string])["address"])
        guard let report = await target.forgetBad(address) else { throw Fault(404, "\(address) is not reported") }
        return ControlResponse(report)
    }

    private nonisolated static func name(_ text: String, _ key: String) throws(Fault) -> Name {
        do throws(NameError) {
            return try Name(text).lowercased
        } catch {
            throw Fault(400, "\(key): not a name: \(error)")
        }
    }

    private nonisolated static func address(_ value: ControlRequest.Value?) throws(Fault) -> IPAddress {
        guard case .string(let text)? = value, let address = IPAddress(text) else {
            throw Fault(400, "address: must be an IP address")
        }
        return address
    }
}

/// A fault of a request.
private struct Fault: Error {
    let status: Int
    let text: String

    init(_ status: Int, _ text: String) {
        self.status = status
        self.text = text
    }
}

extension ControlRequest {
    /// The value of a member of a body.
    fileprivate enum Value {
        case string(String)
        case integer(OutsideNumber)
        case boolean(Bool)
    }

    /// The parameters. Refuses unknown ones: a misspelt parameter must not widen the request.
    @discardableResult
    fileprivate func allow(parameters known: Set<String>) throws(Fault) -> [String: String] {
        guard let parameters else { throw Fault(400, "a parameter is not text") }
        if let unknown = parameters.keys.first(where: { !known.contains($0) }) {
            throw Fault(400, "\(unknown): unknown parameter")
        }
        return parameters
    }

    /// The members of the body, one object; an empty body counts as an empty object. Refuses unknown members.
    fileprivate func members(_ known: [String: JSONReader.Kind]) throws(Fault) -> [String: Value] {
        try allow(parameters: [])
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
            throw Fault(400, "the body is not as expected: \(error)")
        }
        if let unknown { throw Fault(400, "\(unknown): unknown member") }
        return members
    }
}
