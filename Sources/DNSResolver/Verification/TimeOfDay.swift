public import DNSWire

/// This host's time of day, and whether it can be right.
///
/// It cannot be before this version was released, nor differ by more than a day from the times of all services that have
/// answered over HTTPS in the last hour, two at least: the time of one alone may be wrong itself. A time given over plain
/// HTTP may be forged by anything on the path, and is ignored here. Nor can it be right when none has answered in that hour
/// and one has shown a certificate that is wrong only in its time: no time is given without a certificate. To feign
/// that takes an old certificate of a service with its key, as the handshake has come to its end, and the silence of all other
/// services; it gains no more than on a machine whose clock was never set.
@Loop
public final class TimeOfDay {
    /// What a service shows over HTTPS.
    public enum Sign: Hashable, Sendable {
        /// A reply, with the time in it, in seconds since 1970; nil: none that counts.
        case reply(Int64?)
        /// A certificate that is wrong only in its time.
        case wrongTime
    }

    /// Seconds by which a service's time may differ.
    public nonisolated static let tolerance: Int64 = 86_400
    /// How long a service's time counts.
    private nonisolated static let memory: Duration = .seconds(3_600)
    /// How many services must agree that the clock is wrong.
    private nonisolated static let witnesses = 2

    private let released: Int64
    private let clock: any LoopClock
    private let secondsSince1970: @Sendable () -> Int64
    private let report: @Loop (ClockDoubt?) -> Void
    /// The time that each service gave last, and when.
    private var learned: [String: (time: Int64, at: Instant)] = [:]
    /// When a service last answered; and which showed a certificate of another time last, and when.
    private var answered: Instant?
    private var refused: (provider: String, at: Instant)?
    private var isReported = false

    /// - Parameters:
    ///   - released: seconds since 1970 before which no clock can be right.
    ///   - clock: monotonic: it is not affected when the time of day is set.
    ///   - report: called when a doubt begins, and with nil when it ends.
    public nonisolated init(
        released: Int64, clock: any LoopClock, secondsSince1970: @escaping @Sendable () -> Int64,
        report: @escaping @Loop (ClockDoubt?) -> Void
    ) {
        self.released = released
        self.clock = clock
        self.secondsSince1970 = secondsSince1970
        self.report = report
    }

    /// Records what a service has shown over HTTPS.
    public func learn(_ sign: Sign, from provider: String) {
        switch sign {
        case .reply(let time):
            answered = clock.now
            if let time { learned[provider] = (time, clock.now) }
        case .wrongTime: refused = (provider, clock.now)
        }
        _ = doubt
    }

    /// Why the clock cannot be right; nil without a reason. Computed each time: a clock can be set at any moment.
    public var doubt: ClockDoubt? {
        let doubt = presentDoubt
        if isReported != (doubt != nil) {
            isReported = doubt != nil
            report(doubt)
        }
        return doubt
    }

    private var presentDoubt: ClockDoubt? {
        let own = secondsSince1970()
        if own < released { return .beforeRelease }
        if let refused, isRecent(refused.at), !(answered.map { isRecent($0) } ?? false) {
            return .certificate(refused.provider)
        }
        var found = 0
        var nearest: (provider: String, ahead: Int64)?
        for (provider, said) in learned where isRecent(said.at) {
            found += 1
            let ahead = OutsideNumber(said.time) + (clock.now - said.at).components.seconds - own
            guard ahead.within(-Self.tolerance...Self.tolerance) == nil else { return nil }
            let seconds: Int64 = ahead.clamped(to: .min ... .max)
            if nearest.map({ (seconds.magnitude, provider) < ($0.ahead.magnitude, $0.provider) }) ?? true {
                nearest = (provider, seconds)
            }
        }
        return found < Self.witnesses ? nil : nearest.map { .service($0.provider, ahead: $0.ahead) }
    }

    private func isRecent(_ time: Instant) -> Bool { clock.now - time <= Self.memory }
}

/// Why the clock cannot be right.
public enum ClockDoubt: Hashable, Sendable {
    /// It is before the release.
    case beforeRelease
    /// A service's time differs by this many seconds; more than 0: it is ahead of this host's.
    case service(String, ahead: Int64)
    /// A service's certificate is wrong only in its time, and none answers.
    case certificate(String)
}

extension ClockDoubt: CustomStringConvertible {
    /// One sentence without its subject: "the clock ...".
    public var description: String {
        switch self {
        case .beforeRelease: "is before this version was released"
        case .service(let provider, let ahead):
            "is \(ahead.magnitude) s \(ahead < 0 ? "ahead of" : "behind") that of \(provider)"
        case .certificate(let provider):
            "is outside the time of \(provider)'s certificate, and no service answers over https"
        }
    }
}
