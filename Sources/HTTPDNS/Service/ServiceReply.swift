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
    /// The account's calls of the day are used up.
    case overQuota
    /// Nothing could be resolved now.
    case unavailable
}

/// What a request in a vendor's form comes to.
package enum ServiceReading: Sendable {
    /// Questions, to be answered.
    case call(ServiceCall)
    /// An error, or what needs no resolver.
    case reply(ServiceReply)
    /// A credential is wrong: the reply says so, and the attempt counts as a guess.
    case denied(ServiceReply)
    /// No vendor has this path.
    case unknown
}
