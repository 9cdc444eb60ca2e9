/// The transport protocol of a listener.
package enum Transport: String, Sendable {
    case udp = "UDP"
    case tcp = "TCP"
}
