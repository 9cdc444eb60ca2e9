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
}

/// The response to a control request.
struct ControlResponse: Sendable, Equatable {
    var status: Int
    /// JSON text.
    var body: String

    init(_ report: some JSONRecord, status: Int = 200) {
        self.status = status
        body = report.json + "\n"
    }

    static func fault(_ status: Int, _ text: String) -> ControlResponse {
        ControlResponse(FaultReport(error: text), status: status)
    }
}
