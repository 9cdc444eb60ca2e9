package import DNSResolver
package import DNSWire
package import Scheduling

/// What the control API asks and tells: the running server.
@Loop
package protocol ControlTarget: AnyObject, Sendable {
    var status: StatusReport { get }

    /// Answers of the names below `suffix`, or all.
    ///
    /// - Parameters:
    ///   - limit: how many, at least 1.
    ///   - cursor: where an earlier report left off.
    ///   - withRecords: whether all their records are wanted, or addresses alone.
    /// - Returns: nil for a cursor that was never given.
    func cached(below suffix: Name?, limit: Int, cursor: String?, withRecords: Bool) async -> CacheReport?

    /// Answers of one name, with their records.
    func cached(_ name: Name) async -> CacheReport

    func flush(_ what: AnswerStore.Removal) async -> FlushReport

    func turn(on isOn: Bool) -> SwitchReport

    var badAddresses: BadAddressReport { get }

    /// Counts a report for `lifetime`, and forgets the answers that hold the address.
    func reportBad(_ address: IPAddress, lifetime: Duration) async -> BadAddressReport

    /// Takes the reports of an address back. Returns nil when there is none.
    func forgetBad(_ address: IPAddress) -> BadAddressReport?

    /// Reads the configuration again.
    func reload() async -> ReloadReport
}
