/// The order of the sources: as set by `[route] mode`, or as changed by the switch.
///
/// The raw values distinguish policies on disk.
package enum Mode: String, Sendable {
    /// HTTPDNS, with LocalDNS as fallback. The default.
    case httpdnsFirst = "httpdns-first"
    /// LocalDNS where certificates verify its addresses, else HTTPDNS.
    case localDNSFirst = "localdns-first"
    /// HTTPDNS only, for protected names.
    case httpdnsOnly = "httpdns-only"
    /// LocalDNS for every name that no `forward` entry matches.
    case localDNSOnly = "localdns-only"
}
