/// The result of a `FakeHTTPDNS`'s scheduling call, Aliyun's `/{account}/ss`.
package struct FakeSchedule: Sendable {
    package var addresses: [TestAddress]

    package init(_ addresses: [TestAddress]) { self.addresses = addresses }

    /// The vendor's JSON.
    var text: String {
        let ips = addresses.map { "\"\($0.host)\"" }.joined(separator: ",")
        let ports = addresses.map { "\($0.port)" }.joined(separator: ",")
        return "{\"service_ip\":[\(ips)],\"service_ip_port\":[\(ports)],\"statistics\":{\"switch\":\"off\"}}"
    }
}
