/// What a client of ours gets: an answer, or an error in the vendor's form.
package struct ServiceReply: Hashable, Sendable {
    /// An HTTP status code.
    package var status: Int
    /// Whether the body is JSON; otherwise it is plain text.
    package var isJSON: Bool
    package var body: [UInt8]

    init(_ status: Int, json text: String) { (self.status, isJSON, body) = (status, true, Array(text.utf8)) }

    init(_ status: Int, text: String = "") { (self.status, isJSON, body) = (status, false, Array(text.utf8)) }
}

/// Why a call that can be read gets no answer.
package enum ServiceRefusal: Sendable {
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
package enum ServiceCredential: Hashable, Sendable {
    /// A token, which is all that there is to know.
    case token(String)
    /// The account's ID, beside which stand a signature or what is encrypted.
    case account(String)
}

/// What a request in a vendor's form comes to.
package enum ServiceReading: Sendable {
    /// Questions, to be answered.
    case call(ServiceCall)
    /// An error, or what needs no resolver.
    case reply(ServiceReply)
    /// A credential is wrong: the reply says so, and the attempt counts as a guess at it.
    case denied(ServiceReply, ServiceCredential?)
    /// No vendor has this path.
    case unknown
}
