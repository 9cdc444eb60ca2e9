/// What the server has counted since its start; nothing in it names a client or a domain name.
package struct TrafficReport: Equatable, Sendable {
    /// The resources of the process.
    package struct Process: Equatable, Sendable {
        /// Of user and system, in seconds.
        package var processorTime = 0.0
        package var residentBytes = 0
        package var descriptors = 0
        package var descriptorLimit = 0
        /// Seconds since 1970.
        package var started = 0.0

        package init() {}
    }

    /// Responses with one transport, address family and response code.
    package struct Responses: Equatable, Sendable {
        /// `udp` or `tcp`.
        package var transport: String
        /// `ipv4` or `ipv6`.
        package var family: String
        /// Such as `NOERROR`.
        package var code: String
        package var count: Int

        package init(transport: String, family: String, code: String, count: Int) {
            (self.transport, self.family, self.code, self.count) = (transport, family, code, count)
        }
    }

    package var process = Process()
    package var responses: [Responses] = []

    package init() {}
}
