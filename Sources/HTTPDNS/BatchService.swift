package import DNSWire

/// A service that takes several names in one request, all for the same types.
///
/// As pure a pair as `Service`'s own. A service that has one form of request for one name and for several is asked for
/// one as for a batch of one.
package protocol BatchService: Service {
    /// The most names of one request.
    static var maximumNames: Int { get }

    /// The request for all the names.
    ///
    /// - Parameter time: seconds since 1970, corrected by what is known of the service's clock.
    /// - Throws: for no name, for more than `maximumNames`, and when one of them cannot be written in the service's form.
    func request(for question: BatchQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest

    /// What a complete reply means. Never traps on any bytes.
    func outcome(of response: HTTPResponse, to question: BatchQuestion) -> BatchOutcome
}

/// What such a service is asked: several names, all for the same types.
package struct BatchQuestion: Hashable, Sendable {
    /// Lower-cased, no two alike.
    package var names: [Name]
    /// A alone, AAAA alone, or both.
    package var types: [RecordType]
    /// As in `ServiceQuestion`.
    package var clientSubnet: AddressPrefix?

    package init(names: [Name], types: [RecordType], clientSubnet: AddressPrefix? = nil) {
        self.names = names
        self.types = types
        self.clientSubnet = clientSubnet
    }
}

extension BatchQuestion {
    /// A batch of one.
    init(_ question: ServiceQuestion) {
        self.init(names: [question.name], types: question.types, clientSubnet: question.clientSubnet)
    }
}

/// What the reply to several names means.
package enum BatchOutcome: Hashable, Sendable {
    /// By name, as it was asked; a name or type on which the reply is silent has no entry.
    case results([Name: ServiceResults])
    case failure(ServiceFailure)
}

extension BatchService {
    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest {
        try request(for: BatchQuestion(question), at: time)
    }

    package func outcome(of response: HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome {
        switch outcome(of: response, to: BatchQuestion(question)) {
        case .failure(let failure): return .failure(failure)
        case .results(let results):
            guard let result = results[question.name] else {
                return .failure(.unavailable("the reply is silent on the name"))
            }
            return .results(result)
        }
    }

    /// Whether a name can be written in the service's form, so that a batch is not refused for its sake.
    package static func canWrite(_ name: Name) -> Bool { (try? HostText.of(name)) != nil }

    /// The names as the service takes them, with commas between them.
    static func list(_ names: [Name]) throws(ServiceFailure) -> String {
        guard (1...maximumNames).contains(names.count) else {
            throw .rejected("1 to \(maximumNames) names can be asked for at once")
        }
        var hosts: [String] = []
        for name in names { hosts.append(try HostText.of(name)) }
        return hosts.joined(separator: ",")
    }
}

/// The results of a batch, as they are read out of its reply.
struct BatchResults {
    private let names: [Name]
    private(set) var results: [Name: ServiceResults] = [:]

    init(_ names: [Name]) { self.names = names }

    /// The name that `text` means; throws for one that was not asked: such a reply belongs to another question.
    func name(_ text: String) throws(ServiceFailure) -> Name {
        guard let name = names.first(where: { HostText.matches(text, $0) }) else {
            throw .unavailable("the reply is for another name")
        }
        return name
    }

    /// Takes one result; of several for the same name and type the first counts.
    mutating func take(_ result: ServiceResult, _ type: RecordType, of name: Name) {
        results[name, default: [:]].add(result, for: type)
    }
}
