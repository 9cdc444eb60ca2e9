package import DNSWire

/// A valid call in a vendor's form: what is asked, on whose account, and how the reply is written.
package struct ServiceCall: Sendable {
    /// What the credentials of a call prove.
    package enum Proof: Sendable {
        /// There are none.
        case none
        /// They fit, but anything on the path may have read them, or changed what is asked: they count as wrong ones where
        /// the client needs any.
        case doubtful
        /// The client is served wherever it is.
        case valid
    }

    /// The most names of one call, with two questions each.
    package static let mostNames = 8

    /// To be resolved, each by itself, all of them for the first client before those for the next; without those that the
    /// account may not ask.
    package private(set) var questions: [Question]
    package var dnssecOK = false
    package var checkingDisabled = false
    /// The ID of the account on which it counts; nil: none.
    package let account: String?
    package let proof: Proof
    /// What the request claims to know of the account.
    package internal(set) var credential: ServiceCredential?
    /// Whether the account lists the names that it may ask for.
    private let listsNames: Bool
    /// Whether the network of no client may be sent on.
    package let hidesNetwork: Bool
    /// The clients for which the account's holder asks, where the account may name any; empty: the sender of the request.
    private let clients: [IPAddress]
    private let form: any ServiceForm

    /// - Parameters:
    ///   - questions: for each client.
    ///   - clients: what the request names, address or network.
    init(
        _ questions: [Question], on account: ServiceAccount?, proof: Proof, clients: [String],
        form: any ServiceForm
    ) {
        self.account = account?.id
        self.proof = proof
        listsNames = account?.names.isEmpty == false
        self.form = form
        let mayName = proof == .valid && account?.namesClients == true
        // A network counts as its first address. That of all addresses is no client, but the wish to send none, which needs
        // no credentials.
        let networks = clients.compactMap { AddressPrefix($0) }
        hidesNetwork = networks.contains { $0.length == 0 }
        self.clients = mayName ? networks.filter { $0.length > 0 }.map(\.address) : []
        let allowed = questions.filter { account?.allows($0.name) ?? true }
        self.questions = (0..<max(1, self.clients.count)).flatMap { _ in allowed }
    }

    init(
        _ questions: [Question], on account: ServiceAccount?, proof: Proof, client: String?,
        form: any ServiceForm
    ) {
        self.init(
            questions, on: account, proof: proof, clients: client.map { [$0] } ?? [], form: form)
    }

    /// Whether credentials of the account were valid.
    package var isAuthenticated: Bool { proof == .valid }

    /// Leaves out what an account that lists no names may not ask for from outside of the network.
    ///
    /// - Returns: whether every name in the answers must be one that may be asked for, too.
    package mutating func limit(to isAllowed: (Question) -> Bool) -> Bool {
        guard !listsNames else { return false }
        questions.removeAll { !isAllowed($0) }
        return true
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

    /// Nil for text that is no host name.
    init?(_ text: some StringProtocol) {
        guard let name = try? Name(text), (try? HostText.of(name)) != nil else { return nil }
        self.text = String(text)
        self.name = name
    }
}

extension [ServiceHost] {
    /// A question for each name and type.
    func questions(_ types: [RecordType]) -> [Question] {
        flatMap { host in types.map { Question(name: host.name, type: $0) } }
    }
}
