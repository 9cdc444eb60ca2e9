package import DNSWire

/// The wire format of a scheduling call, which asks a service for the addresses to use: builds requests and interprets
/// responses.
///
/// Pure functions, like `ProviderFormat`. The call is no DNS query and is not billed.
package protocol ScheduleFormat: Sendable {
    /// The request.
    ///
    /// - Parameter time: seconds since 1970, corrected by the known offset of the service's clock.
    /// - Throws: when it cannot be signed here.
    func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest

    /// The outcome for a complete response. Never traps on any bytes.
    func outcome(of response: HTTPResponse) -> ScheduleOutcome
}

/// The outcome of a scheduling call.
package enum ScheduleOutcome: Hashable, Sendable {
    case addresses(AddressSchedule)
    /// The vendor has disabled the service: it must not be queried any more.
    case disabled
    case failure(UpstreamFailure)
}

/// The addresses that a service returns for itself, unchecked: the caller decides whether they are acceptable.
package struct AddressSchedule: Hashable, Sendable {
    /// The most addresses that are read from a response.
    static let limit = 64

    package struct Place: Hashable, Sendable {
        package var address: IPAddress
        /// Nil: the service's default port.
        package var port: UInt16?

        package init(_ address: IPAddress, port: UInt16? = nil) {
            self.address = address
            self.port = port
        }
    }

    /// In the service's order, IPv4 first; at least one.
    package var places: [Place]
    /// The time after which the call is to be repeated; nil: not given.
    package var lifetime: Duration?

    package init(_ places: [Place], lifetime: Duration? = nil) {
        self.places = places
        self.lifetime = lifetime
    }
}
