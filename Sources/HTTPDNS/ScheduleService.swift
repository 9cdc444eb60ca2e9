package import DNSWire

/// The wire form of a scheduling call: how a service is asked which of its addresses to ask, and what its reply means.
///
/// A pure pair, like `Service`. The call is no question and is not billed.
package protocol ScheduleService: Sendable {
    /// The request.
    ///
    /// - Parameter time: seconds since 1970, corrected by what is known of the service's clock.
    /// - Throws: when it cannot be signed here.
    func request(at time: Int64) throws(ServiceFailure) -> HTTPRequest

    /// What a complete reply means. Never traps on any bytes.
    func outcome(of response: HTTPResponse) -> ScheduleOutcome
}

/// What came of a scheduling call.
package enum ScheduleOutcome: Hashable, Sendable {
    case addresses(AddressSchedule)
    /// The vendor wants the service not to be asked any more.
    case disabled
    case failure(ServiceFailure)
}

/// The addresses that a service wants to be asked at, as it told them: nothing is said of whether they may be believed.
package struct AddressSchedule: Hashable, Sendable {
    /// How many are read of a reply.
    static let limit = 64

    package struct Place: Hashable, Sendable {
        package var address: IPAddress
        /// Nil: the one that the service usually has.
        package var port: UInt16?

        package init(_ address: IPAddress, port: UInt16? = nil) {
            self.address = address
            self.port = port
        }
    }

    /// In the service's order, IPv4 first; at least one.
    package var places: [Place]
    /// When it wants to be asked again; nil: not told.
    package var lifetime: Duration?

    package init(_ places: [Place], lifetime: Duration? = nil) {
        self.places = places
        self.lifetime = lifetime
    }
}
