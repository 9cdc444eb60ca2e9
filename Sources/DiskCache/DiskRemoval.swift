package import DNSWire

/// What is to be forgotten, whether it was loaded or not.
package enum DiskRemoval: Sendable, Hashable {
    case all
    case name(Name)
    /// The name and all below it.
    case suffix(Name)
    /// Answers with this address.
    case holding(IPAddress)

    /// Whether it covers this answer.
    func covers(_ name: Name, _ addresses: @autoclosure () -> [IPAddress]) -> Bool {
        switch self {
        case .all: true
        case .name(let other): name == other
        case .suffix(let suffix): name.isWithin(suffix)
        case .holding(let address): addresses().contains(address)
        }
    }
}
