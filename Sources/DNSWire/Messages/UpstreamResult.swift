/// The result of asking an upstream for one type.
package enum UpstreamResult: Hashable, Sendable {
    /// Records, or an NXDOMAIN or NODATA response. Indirect, since it is passed on many times.
    indirect case answer(Answer)
    /// An indeterminate empty response: without a reason, such as a name unknown to the service, NXDOMAIN or NODATA. The
    /// next source is asked. `ttl`: seconds that the service gave for it, if any.
    case indeterminateEmpty(ttl: UInt32?)
    case failure(UpstreamFailure)
}
