public import DNSWire

/// A valid call in a vendor's form: what is asked, on whose account, and how the reply is written.
public struct ServiceCall: Sendable {
    /// What the credentials of a call prove.
    public enum Proof: Sendable {
        /// There are none.
        case none
        /// They fit, but anything on the path may have read them, or changed what is asked: they count as wrong ones where
        /// the client needs any.
        case doubtful
        /// The client is served wherever it is.
        case valid
    }

    /// The most names of one call, with two questions each.
    public static let mostNames = 8

    /// To be resolved, each by itself, all of them for the first client before those for the next; without those that the
    /// account may not ask.
    public private(set) var questions: [Question]
    public var dnssecOK = false
    public var checkingDisabled = false
    /// The ID of the account on which it counts; nil: none.
    public let account: String?
    public let proof: Proof
    /// What the request claims to know of the account.
    public internal(set) var credential: ServiceCredential?
    /// Whether the account lists the names that it may ask for.
    private let listsNames: Bool
    /// Whether the network of no client may be sent on.
    public let hidesNetwork: Bool
    /// The clients for which the account's holder asks, where the account may name any; empty: the sender of the request.
    private let clients: [IPAddress]
    private let form: any ServiceForm

    /// - Parameters:
    ///   - questions: for each client.
    ///   - clients: what the request names, address or network; nil: nothing.
    init(
        _ questions: [Question], on account: ServiceAccount?, proof: Proof, clients: [String?],
        form: any ServiceForm
    ) {
        self.account = account?.id
        self.proof = proof
        listsNames = account?.names.isEmpty == false
        self.form = form
        let mayName = proof == .valid && account?.namesClients == true
        // A network counts as its first address. That of all addresses is no client, but the wish to send none, which needs
        // no credentials.
        let networks = clients.compactMap { $0.flatMap { AddressPrefix($0) } }
        hidesNetwork = networks.contains { $0.length == 0 }
        self.clients = mayName ? networks.filter { $0.length > 0 }.map(\.address) : []
        let allowed = questions.filter { account?.allows($0.name) ?? true }
        self.questions = (0..<max(1, self.clients.count)).flatMap { _ in allowed }
    }

    /// Whether credentials of the account were valid.
    public var isAuthenticated: Bool { proof == .valid }

    /// Leaves out what an account that lists no names may not ask for from outside of the network. Returns whether every
    /// name in the answers must be one that may be asked for, too.
    public mutating func limit(to isAllowed: (Question) -> Bool) -> Bool {
        guard !listsNames else { return false }
        questions.removeAll { !isAllowed($0) }
        return true
    }

    /// The client for which the account's holder asks; the first of several; nil: the sender of the request.
    public var client: IPAddress? { clients.first }

    /// The client for which the question at an index is resolved; nil: the sender of the request.
    public func client(of index: Int) -> IPAddress? {
        clients.isEmpty ? nil : clients[index / max(1, questions.count / clients.count)]
    }

    /// The reply with the responses to `questions`, in their order, nil for one that has none; it shows the client for
    /// which the names were resolved.
    public func reply(_ answers: [Message?], for client: IPAddress) -> ServiceReply {
        let all = clients.count > 1 ? clients : [client]
        let each = questions.count / all.count
        return form.reply(
            all.enumerated().map { number, client in
                let part = number * each..<(number + 1) * each
                return (
                    client,
                    ServiceAnswers(Array(questions[part]), Array(answers.dropFirst(part.lowerBound).prefix(each)))
                )
            })
    }

    /// The vendor's error for a call without an answer.
    public func reply(_ refusal: ServiceRefusal) -> ServiceReply { form.reply(refusal) }
}

/// How the reply to one call is written.
protocol ServiceForm: Sendable {
    /// The reply to a call, with what was found for each of its clients; most forms know one.
    func reply(_ parts: [(client: IPAddress, answers: ServiceAnswers)]) -> ServiceReply
    func reply(_ refusal: ServiceRefusal) -> ServiceReply
}

/// What a client of ours gets: an answer, or an error in the vendor's form.
public struct ServiceReply: Hashable, Sendable {
    /// An HTTP status code.
    public var status: Int
    /// Whether the body is JSON; otherwise it is plain text.
    public var isJSON: Bool
    public var body: [UInt8]

    init(_ status: Int, json text: String) { (self.status, isJSON, body) = (status, true, Array(text.utf8)) }

    init(_ status: Int, text: String = "") { (self.status, isJSON, body) = (status, false, Array(text.utf8)) }
}

/// Why a call that can be read gets no answer.
public enum ServiceRefusal: Sendable {
    /// Without valid credentials, from a network that is not served.
    case notAllowed
    /// The same with credentials that prove nothing: as if they were wrong.
    case doubtful
    /// The account's calls of the day are used up.
    case overQuota
    /// Nothing could be resolved now.
    case unavailable
}

/// What a request claims to know of an account.
public enum ServiceCredential: Hashable, Sendable {
    /// A token, which is all that there is to know.
    case token(String)
    /// The account's ID, beside which stand a signature or what is encrypted.
    case account(String)
}

/// What a request in a vendor's form comes to.
public enum ServiceReading: Sendable {
    /// Questions, to be answered.
    case call(ServiceCall)
    /// An error, or what needs no resolver.
    case reply(ServiceReply)
    /// A credential is wrong: the reply says so, and the attempt counts as a guess at it.
    case denied(ServiceReply, ServiceCredential?)
    /// No vendor has this path.
    case unknown
}

/// A request of a client of ours in a vendor's form. All of it is hostile input.
public struct ServiceRequest: Sendable {
    /// Whether it is a POST; else a GET.
    public var isPost: Bool
    /// Path and query as sent, percent-encoded.
    public var target: [UInt8]
    /// Of POST: more parameters, as a form encodes them; empty otherwise.
    public var body: [UInt8]
    /// The address from which the request came.
    public var client: IPAddress
    /// The port by which the client asks; nil: that of http or https.
    public var port: UInt16?
    /// Whether it came over https.
    public var isEncrypted: Bool

    public init(
        isPost: Bool = false, target: [UInt8], body: [UInt8] = [], client: IPAddress, port: UInt16? = nil,
        isEncrypted: Bool = false
    ) {
        self.isPost = isPost
        self.target = target
        self.body = body
        self.client = client
        self.port = port == (isEncrypted ? 443 : 80) ? nil : port
        self.isEncrypted = isEncrypted
    }
}

extension RequestTarget {
    /// What the request claims to know of an account; nil: nothing.
    var credential: ServiceCredential? {
        if let token = self["token"] { return .token(token) }
        return (self["id"] ?? self["uid"] ?? (path.count > 1 ? path.first : nil)).map { .account($0) }
    }
}

/// An account of this server's own HTTPDNS service.
public struct ServiceAccount: Sendable {
    public let id: String
    /// The key that signs requests, and the token of Tencent's https form; nil: requests need no signature.
    public let secret: Secret?
    /// The AccessKey ID of AliDNS's form; empty: none.
    public let accessKeyID: String
    /// Encrypts requests and replies, Aliyun's with GCM where it is for CBC; nil: they are plain.
    public let box: PayloadBox?
    /// Suffixes of the names that may be asked for; empty: all.
    public let names: [Name]
    /// Whether a request with valid credentials may name the client for which it is made.
    public let namesClients: Bool
    /// Whether what anything on the path can read or change counts as a credential.
    public let isReplayable: Bool

    public init(
        id: String, secret: Secret? = nil, accessKeyID: String = "", box: PayloadBox? = nil,
        names: [Name] = [], namesClients: Bool = false, isReplayable: Bool = false
    ) {
        self.id = id
        self.secret = secret
        self.accessKeyID = accessKeyID
        self.box = box
        self.names = names
        self.namesClients = namesClients
        self.isReplayable = isReplayable
    }

    func allows(_ name: Name) -> Bool {
        guard !names.isEmpty else { return true }
        var suffix: NameSuffix? = NameSuffix(name)
        while let current = suffix {
            if names.contains(where: { NameSuffix($0) == current }) { return true }
            suffix = current.parent
        }
        return false
    }
}
