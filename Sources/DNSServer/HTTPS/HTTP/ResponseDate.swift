/// The value of `Date` in the responses of a site (RFC 9110 section 6.6.1), which its sessions share: they read no clock.
final class ResponseDate {
    /// Empty while no clock is set: the field is not sent then.
    var text: [UInt8] = []
}
