package import DNSWire

/// A request of a client of ours in a vendor's form. All of it is hostile input.
package struct ServiceRequest: Sendable {
    package enum Method: Sendable {
        case get, post
    }

    package var method: Method
    /// Path and query as sent, percent-encoded.
    package var target: [UInt8]
    /// Of POST: more parameters, as a form encodes them; empty otherwise.
    package var body: [UInt8]
    /// The address from which the request came.
    package var client: IPAddress
    /// The port by which the client asks; nil: that of http or https.
    package var port: UInt16?
    /// Whether it came over https.
    package var isEncrypted: Bool

    package init(
        method: Method = .get, target: [UInt8], body: [UInt8] = [], client: IPAddress, port: UInt16? = nil,
        isEncrypted: Bool = false
    ) {
        self.method = method
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
