package import DNSWire

/// What a network with a captive portal looks like from here: no provider can be reached, and LocalDNS gives one address for
/// names that have nothing in common.
///
/// A hijacker that also blocks HTTPDNS looks the same. Shown in `status`; decides nothing.
package enum CaptivePortal {
    /// Seconds after which a forged address says nothing of the present network any more.
    package static let memory: Int64 = 120

    /// The address that several unrelated names were given lately.
    ///
    /// - Parameters:
    ///   - entries: forged addresses, the one seen last first.
    ///   - now: seconds since 1970.
    /// - Returns: nil unless two names whose last two labels differ were given it within `memory`.
    package static func address(in entries: [HijackJournal.Entry], now: Int64) -> IPAddress? {
        var names: [IPAddress: Name] = [:]
        for entry in entries where entry.last > now - memory && entry.last <= now {
            guard let other = names[entry.address] else {
                names[entry.address] = entry.name
                continue
            }
            if !areRelated(entry.name, other) { return entry.address }
        }
        return nil
    }

    /// Whether their last two labels are the same: mostly one owner, or one site.
    private static func areRelated(_ first: Name, _ second: Name) -> Bool { site(of: first) == site(of: second) }

    private static func site(of name: Name) -> Name {
        var site = name
        while let parent = site.parent, let above = parent.parent, !above.isRoot { site = parent }
        return site
    }
}
