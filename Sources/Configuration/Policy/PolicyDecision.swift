/// What a machine does with a verified policy.
package enum PolicyDecision: Equatable, Sendable {
    case take
    /// The machine has it already.
    case same
    /// Not for this machine, by share or labels: what is in force stays.
    case elsewhere
    /// Why not, as the end of a sentence that begins with the file.
    case refuse(String)

    /// - Parameters:
    ///   - present: the document that was taken last, in force or not; nil: none.
    ///   - now: seconds since 1970.
    ///   - isForMachine: whether its share and labels are those of the machine.
    package init(on policy: SignedPolicy, after present: SignedPolicy?, now: Int64, isForMachine: Bool) {
        let serial = policy.document.serial
        if let present, policy == present {
            self = .same
        } else if let present, serial < present.document.serial {
            self = .refuse(
                "has the serial \(serial), and this machine has had \(present.document.serial): it is old, or replayed;"
                    + " a new one needs a higher serial")
        } else if let present, serial == present.document.serial {
            self = .refuse(
                "has the serial \(serial) of another document that this machine has had: a new one needs a higher serial"
            )
        } else if policy.document.expires <= now {
            self = .refuse("has expired; sign it again with a higher serial and a later document.expires")
        } else {
            self = isForMachine ? .take : .elsewhere
        }
    }
}
