/// How a listener takes its questions.
package enum Transport: String, Sendable {
    case udp = "UDP"
    case tcp = "TCP"
}
