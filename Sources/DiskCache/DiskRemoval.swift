package import DNSWire

/// A set of answers to be removed, whether loaded into memory or not.
package enum DiskRemoval: Sendable, Hashable {
    case all
    case name(Name)
    /// The name and all names below it.
    case suffix(Name)
    /// Answers that contain this address.
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
