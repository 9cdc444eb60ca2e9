package import DNSWire

/// A valid call in a vendor's form: what is asked, on whose account, and how the reply is written.
package struct ServiceCall: Sendable {
    /// The most names of one call, with two questions each.
    package static let mostNames = 8

    /// To be resolved, each by itself; empty when the account may ask for none of the names.
    package let questions: [Question]
    package var dnssecOK = false
    package var checkingDisabled = false
    /// The ID of the account on which it counts; nil: none.
    package let account: String?
    /// Whether credentials of the account were valid: then the client is served wherever it is.
    package let isAuthenticated: Bool
    /// The client for which the account's holder asks, where the account may name one; nil: the sender of the request.
    package let client: IPAddress?
    private let form: any ServiceForm

    init(
        _ questions: [Question], on account: ServiceAccount?, isAuthenticated: Bool, client: String?,
        form: any ServiceForm
    ) {
        self.questions = questions
        self.account = account?.id
        self.isAuthenticated = isAuthenticated
        self.form = form
        let mayName = isAuthenticated && account?.namesClients == true
        // A network counts as its first address.
        self.client = mayName ? client.flatMap { IPAddress($0) ?? AddressPrefix($0)?.address } : nil
    }

    /// The reply with these answers.
    ///
    /// - Parameters:
    ///   - answers: the responses to `questions`, in their order; nil for one that has none.
    ///   - client: the one for which the names were resolved; the reply shows it.
    package func reply(_ answers: [Message?], for client: IPAddress) -> ServiceReply {
        form.reply(ServiceAnswers(questions, answers), for: client)
    }

    /// The vendor's error for a call without an answer.
    package func reply(_ refusal: ServiceRefusal) -> ServiceReply { form.reply(refusal) }
}

/// How the reply to one call is written.
protocol ServiceForm: Sendable {
    func reply(_ answers: ServiceAnswers, for client: IPAddress) -> ServiceReply
    func reply(_ refusal: ServiceRefusal) -> ServiceReply
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
