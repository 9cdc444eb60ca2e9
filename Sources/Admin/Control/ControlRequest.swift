/// One request to the control API.
struct ControlRequest: Sendable {
    /// Bytes of a body that are taken; the longest that means anything has some 300.
    static let bodyLimit = 4_096

    var method: String
    /// Without the query.
    var path: String
    /// Of the query, decoded; nil when one is no text.
    var parameters: [String: String]? = [:]
    var body: [UInt8] = []
}

/// What it gets.
struct ControlResponse: Sendable, Equatable {
    var status: Int
    /// JSON.
    var body: String

    init(_ report: some JSONRecord, status: Int = 200) {
        self.status = status
        body = report.json + "\n"
    }

    static func fault(_ status: Int, _ text: String) -> ControlResponse {
        ControlResponse(FaultReport(error: text), status: status)
    }
}
