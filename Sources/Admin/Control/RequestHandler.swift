import Scheduling

/// Answers the requests that reach a `ControlServer`.
@Loop
protocol RequestHandler: Sendable {
    /// Executes the request; every fault of it becomes a response.
    func respond(to request: ControlRequest) async -> ControlResponse
}
