package import DNSWire

/// A valid call in a vendor's form: what is asked, on whose account, and how the reply is written.
package struct ServiceCall: Sendable {
    /// The most names of one call, with two questions each.
    package static let mostNames = 8

    /// To be resolved, each by itself, all of them for the first client before those for the next; empty when the account
    /// may ask for none of the names.
    package let questions: [Question]
    package var dnssecOK = false
    package var checkingDisabled = false
    /// The ID of the account on which it counts; nil: none.
    package let account: String?
    /// Whether credentials of the account were valid: then the client is served wherever it is.
    package let isAuthenticated: Bool
    /// Whether the network of no client may be sent on.
    package let hidesNetwork: Bool
    /// The clients for which the account's holder asks, where the account may name any; empty: the sender of the request.
    private let clients: [IPAddress]
    private let form: any ServiceForm

    /// - Parameters:
    ///   - questions: for each client.
    ///   - clients: what the request names, address or network.
    init(
        _ questions: [Question], on account: ServiceAccount?, isAuthenticated: Bool, clients: [String],
        form: any ServiceForm
    ) {
        self.account = account?.id
        self.isAuthenticated = isAuthenticated
        self.form = form
        let mayName = isAuthenticated && account?.namesClients == true
        // A network counts as its first address. That of all addresses is no client, but the wish to send none, which needs
        // no credentials.
        let networks = clients.compactMap { AddressPrefix($0) }
        hidesNetwork = networks.contains { $0.length == 0 }
        self.clients = mayName ? networks.filter { $0.length > 0 }.map(\.address) : []
        self.questions = (0..<max(1, self.clients.count)).flatMap { _ in questions }
    }

    init(
        _ questions: [Question], on account: ServiceAccount?, isAuthenticated: Bool, client: String?,
        form: any ServiceForm
    ) {
        self.init(
            questions, on: account, isAuthenticated: isAuthenticated, clients: client.map { [$0] } ?? [], form: form)
    }

    /// The client for which the account's holder asks; the first of several; nil: the sender of the request.
    package var client: IPAddress? { clients.first }

    /// The client for which a question is resolved; nil: the sender of the request.
    ///
    /// - Parameter index: of the question.
    package func client(of index: Int) -> IPAddress? {
        clients.isEmpty ? nil : clients[index / max(1, questions.count / clients.count)]
    }

    /// The reply with these answers.
    ///
    /// - Parameters:
    ///   - answers: the responses to `questions`, in their order; nil for one that has none.
    ///   - client: the one for which the names were resolved; the reply shows it.
    package func reply(_ answers: [Message?], for client: IPAddress) -> ServiceReply {
        guard clients.count > 1 else { return form.reply(ServiceAnswers(questions, answers), for: client) }
        let each = questions.count / clients.count
        return form.reply(
            clients.enumerated().map { number, client in
                let part = number * each..<(number + 1) * each
                return ServicePart(
                    client: client, answers: ServiceAnswers(Array(questions[part]), Array(answers[part])))
            })
    }

    /// The vendor's error for a call without an answer.
    package func reply(_ refusal: ServiceRefusal) -> ServiceReply { form.reply(refusal) }
}

/// What was found for one client of a call.
struct ServicePart {
    let client: IPAddress
    let answers: ServiceAnswers
}

/// How the reply to one call is written.
protocol ServiceForm: Sendable {
    func reply(_ answers: ServiceAnswers, for client: IPAddress) -> ServiceReply
    /// The reply to a call for several clients.
    func reply(_ parts: [ServicePart]) -> ServiceReply
    func reply(_ refusal: ServiceRefusal) -> ServiceReply
}

extension ServiceForm {
    // Most forms know one client.
    func reply(_ parts: [ServicePart]) -> ServiceReply {
        parts.first.map { reply($0.answers, for: $0.client) } ?? reply(.unavailable)
    }
}

/// A name of a call, as it was sent.
struct ServiceHost: Sendable {
    let text: String
    let name: Name
    /// Whether the account may ask for it. What it may not is as empty as a name that the vendor does not know.
    let isAllowed: Bool

    /// Nil for text that is no host name.
    init?(_ text: some StringProtocol, on account: ServiceAccount?) {
        guard let name = try? Name(text), (try? HostText.of(name)) != nil else { return nil }
        self.text = String(text)
        self.name = name
        isAllowed = account?.allows(name) ?? true
    }
}

extension [ServiceHost] {
    /// A question for each name that is allowed, and each type.
    func questions(_ types: [RecordType]) -> [Question] {
        filter(\.isAllowed).flatMap { host in types.map { Question(name: host.name, type: $0) } }
    }
}
