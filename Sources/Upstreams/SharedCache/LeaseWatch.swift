import Scheduling

/// What servers that ask publish: that they are done. One connection for all channels, of which each has subscribers only
/// while a question waits there, so that a server hears of no other's questions.
@Loop
final class LeaseWatch {
    enum Event {
        /// Whatever is published from now on is reported.
        case isSubscribed
        case isPublished
    }

    /// One question that waits, until `cancel()`.
    @Loop
    final class Waiter: Cancellable {
        fileprivate let channel: [UInt8]
        private var act: (@Loop (Event) -> Void)?
        private weak var watch: LeaseWatch?

        fileprivate init(_ channel: [UInt8], on watch: LeaseWatch, _ act: @escaping @Loop (Event) -> Void) {
            self.channel = channel
            self.watch = watch
            self.act = act
        }

        fileprivate func report(_ event: Event) { act?(event) }

        func cancel() {
            guard act != nil else { return }
            act = nil
            watch?.remove(self)
        }
    }

    private struct Channel {
        var isSubscribed = false
        var waiters: [Waiter] = []
    }

    private let link: RedisLink
    private var channels: [[UInt8]: Channel] = [:]

    init(_ link: RedisLink) {
        self.link = link
        link.onPublished = { [weak self] in self?.received($0) }
        // Those that wait do so until their time is up.
        link.onEnd = { [weak self] in self?.channels = [:] }
    }

    /// Waits for what is published on a channel.
    ///
    /// - Parameter act: called with each event, mostly later; not after the waiter's `cancel()`.
    /// - Returns: nil when there is no connection.
    func wait(on channel: [UInt8], _ act: @escaping @Loop (Event) -> Void) -> Waiter? {
        guard let connection = link.usable() else { return nil }
        let waiter = Waiter(channel, on: self, act)
        var entry = channels[channel] ?? Channel()
        if entry.waiters.isEmpty {
            // The replies are lists, and come as what is published does; only a refusal would come here.
            let sent = connection.sendWithoutReply(RedisCommand("SUBSCRIBE", channel))
            guard sent else { return nil }
        }
        entry.waiters.append(waiter)
        channels[channel] = entry
        if entry.isSubscribed { act(.isSubscribed) }
        return waiter
    }

    private func remove(_ waiter: Waiter) {
        guard var entry = channels[waiter.channel] else { return }
        entry.waiters.removeAll { $0 === waiter }
        guard entry.waiters.isEmpty else { return channels[waiter.channel] = entry }
        channels[waiter.channel] = nil
        _ = link.usable()?.sendWithoutReply(RedisCommand("UNSUBSCRIBE", waiter.channel))
    }

    private func received(_ reply: RedisReply) {
        guard case .list(let parts) = reply, parts.count == 3, case .bytes(let kind) = parts[0],
            case .bytes(let channel) = parts[1]
        else { return }
        switch String(decoding: kind, as: UTF8.self) {
        case "subscribe":
            channels[channel]?.isSubscribed = true
            report(.isSubscribed, on: channel)
        case "message": report(.isPublished, on: channel)
        default: break
        }
    }

    private func report(_ event: Event, on channel: [UInt8]) {
        for waiter in channels[channel]?.waiters ?? [] { waiter.report(event) }
    }

    func close() { link.shutDown() }

    func networkChanged() { link.networkChanged() }
}
