import Scheduling

/// One request to the control API.
struct ControlRequest: Sendable {
    /// The most bytes of a body; the longest useful one has some 300.
    static let bodyLimit = 4_096

    var method: String
    /// Without the query component.
    var path: String
    /// The decoded parameters of the query component; nil when one is not valid text.
    var parameters: [String: String]? = [:]
    var body: [UInt8] = []
    /// The fields of these names; nil without one.
    var host: String?
    var accept: String?
    /// `Sec-Fetch-Site`: from which site a browser's page asks.
    var site: String?
}

/// The response to a control request.
struct ControlResponse: Sendable {
    var status: Int
    var body: String
    var contentType: String
    /// Names and values of further fields.
    var fields: [Field] = []
    /// The body, if it has no end; nil: `body` is it.
    var parts: ControlParts?

    struct Field: Sendable, Equatable {
        let name: String
        let value: String
    }

    init(status: Int, body: String, contentType: String) {
        (self.status, self.body, self.contentType) = (status, body, contentType)
    }

    init(_ report: some JSONRecord, status: Int = 200) {
        self.init(status: status, body: report.json + "\n", contentType: "application/json")
    }

    static func text(_ status: Int, _ text: String, fields: [Field] = []) -> ControlResponse {
        var response = ControlResponse(status: status, body: text, contentType: "text/plain; charset=utf-8")
        response.fields = fields
        return response
    }

    static func fault(_ status: Int, _ text: String) -> ControlResponse {
        ControlResponse(FaultReport(error: text), status: status)
    }
}

/// A body without an end.
struct ControlParts: Sendable {
    /// How long after one part the next is made.
    let interval: Duration
    /// Whether the connection stays for as long as the client reads nothing. Else it is closed as a silent one is.
    let isPatient: Bool
    /// Called when the client has read a part of one.
    var wasRead: @Loop @Sendable () -> Void = {}
    /// Makes the next part; empty: there is nothing to send; nil: there are no more.
    let next: @Loop @Sendable () -> String?
}
