/// What an HTTP status other than 2xx asks to be done, where the service tells nothing more.
enum HTTPStatusFailure {
    static func failure(of response: HTTPResponse, text: String? = nil) -> ServiceFailure {
        let text = text ?? "HTTP \(response.status)"
        return switch response.status {
        case 401, 403: .authentication(text)
        default: .unavailable(text, retryAfter: response.retryAfter)
        }
    }
}
