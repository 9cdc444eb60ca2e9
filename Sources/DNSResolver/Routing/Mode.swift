/// From which source names are answered: what `[route] mode` says, or what the switch made of it.
///
/// The raw values tell policies apart on disk.
package enum Mode: String, Sendable {
    /// HTTPDNS; LocalDNS in reserve. The default.
    case httpdnsFirst = "httpdns-first"
    /// LocalDNS; HTTPDNS when it fails.
    case localDNSFirst = "localdns-first"
    /// HTTPDNS and nothing else for protected names.
    case httpdnsOnly = "httpdns-only"
    /// LocalDNS for every name that no `forward` entry matches.
    case localDNSOnly = "localdns-only"
}
