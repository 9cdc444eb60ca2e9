package import DNSWire

/// Detects what looks like a captive portal: no provider can be reached, and LocalDNS gives one address for unrelated
/// names.
///
/// A hijacker that also blocks HTTPDNS looks the same. Shown in `status`; decides nothing.
package enum CaptivePortal {
    /// Seconds after which a forged address is no longer evidence about the present network.
    package static let memory: Int64 = 120

    /// The address that LocalDNS gave lately for unrelated names.
    ///
    /// - Parameters:
    ///   - entries: forged addresses, the one seen last first.
    ///   - now: seconds since 1970.
    /// - Returns: nil unless it was given, within `memory`, for two names whose last two labels differ.
    package static func address(in entries: [HijackedAddress], now: Int64) -> IPAddress? {
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
