package import DNSWire

/// The mark by which a server that offers DNS over HTTPS or HTTPDNS finds that its own request has come back to it: a
/// random name of the process in the field `CDN-Loop` (RFC 8586).
///
/// Only such a server sends it: another one cannot be asked over HTTP, and a mark would tell services which requests are
/// of one process.
package struct LoopMark: Hashable, Sendable {
    private static let field = "cdn-loop"
    private static let length = 8

    /// As it is sent.
    package let text: String

    /// Nil without random bytes.
    package init?(_ crypto: any Crypto) {
        guard let bytes = crypto.randomBytes(Self.length) else { return nil }
        text = "httpdnsd-\(TextEncoding.hexadecimal(bytes))"
    }

    /// Whether it is among the names of a field's value, each of which may have parameters.
    package func isIn(_ value: String) -> Bool {
        value.split(separator: ",").contains { entry in
            entry.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" } == text
        }
    }

    /// The same request with the mark.
    func added(to request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headers.append([Self.field, text])
        return request
    }
}

/// A provider's format with the mark in each request.
package struct MarkedFormat: ProviderFormat {
    private let format: any ProviderFormat
    private let mark: LoopMark

    package init(_ format: any ProviderFormat, mark: LoopMark) {
        self.format = format
        self.mark = mark
    }

    package var answersBothFamilies: Bool { format.answersBothFamilies }

    package func answers(_ type: RecordType) -> Bool { format.answers(type) }

    package func request(for question: ProviderQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        mark.added(to: try format.request(for: question, at: time))
    }

    package func outcome(of response: HTTPResponse, to question: ProviderQuestion) -> ProviderOutcome {
        format.outcome(of: response, to: question)
    }
}
