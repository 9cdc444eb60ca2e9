import DNSWire

/// What servers that ask publish: that they are done. One connection for all channels, of which each has subscribers only
/// while a question waits there, so that a server hears of no other's questions.
@Loop
final class LeaseWatch {
    /// Called when whatever is published from now on is reported, and with each that is published.
    typealias Act = @Loop (_ isPublished: Bool) -> Void

    /// One question that waits, until `cancel()`.
    @Loop
    final class Waiter: Cancellable {
        fileprivate let channel: [UInt8]
        private var act: Act?
        private weak var watch: LeaseWatch?

        fileprivate init(_ channel: [UInt8], on watch: LeaseWatch, _ act: @escaping Act) {
            self.channel = channel
            self.watch = watch
            self.act = act
        }

        fileprivate func report(isPublished: Bool) { act?(isPublished) }

        func cancel() {
            guard act != nil else { return }
            act = nil
            watch?.remove(self)
        }
    }

    private let link: RedisLink
    private var channels: [[UInt8]: (isSubscribed: Bool, waiters: [Waiter])] = [:]

    init(_ link: RedisLink) {
        self.link = link
        link.onPublished = { [weak self] in self?.received($0) }
        // Those that wait do so until their time is up.
        link.onEnd = { [weak self] in self?.channels = [:] }
    }

    /// Waits for what is published on a channel; nil when there is no connection. Mostly `act` is called later, and never
    /// after the waiter's `cancel()`.
    func wait(on channel: [UInt8], _ act: @escaping Act) -> Waiter? {
        guard let connection = link.usable() else { return nil }
        let waiter = Waiter(channel, on: self, act)
        var entry = channels[channel] ?? (false, [])
        // The replies are lists, and come as what is published does; only a refusal would come here.
        guard !entry.waiters.isEmpty || connection.sendWithoutReply(RedisCommand("SUBSCRIBE", channel)) else {
            return nil
        }
        entry.waiters.append(waiter)
        channels[channel] = entry
        if entry.isSubscribed { act(false) }
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
            report(isPublished: false, on: channel)
        case "message": report(isPublished: true, on: channel)
        default: break
        }
    }

    private func report(isPublished: Bool, on channel: [UInt8]) {
        for waiter in channels[channel]?.waiters ?? [] { waiter.report(isPublished: isPublished) }
    }

    func close() { link.shutDown() }

    func networkChanged() { link.networkChanged() }
}
