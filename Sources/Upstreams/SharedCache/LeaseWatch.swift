import DNSWire

/// What servers that ask publish: that they are done. One connection for all channels, of which each has subscribers only
/// while a question waits there, so that a server hears of no other's questions.
@Loop
final class LeaseWatch {
    /// Called when whatever is published from now on is reported, and with each that is published.
    typealias Act = @Loop (_ isPublished: Bool) -> Void

    private let link: RedisLink
    /// Of each channel those that wait, by their numbers.
    private var channels: [[UInt8]: (isSubscribed: Bool, waiters: [Int: Act])] = [:]
    private var lastNumber = 0

    init(_ link: RedisLink) {
        self.link = link
        link.onPublished = { [weak self] in self?.received($0) }
        // Those that wait do so until their time is up.
        link.onEnd = { [weak self] in self?.channels = [:] }
    }

    /// Waits for what is published on a channel; nil when there is no connection. Mostly `act` is called later, and never
    /// after the end of the wait, which has this number.
    func wait(on channel: [UInt8], _ act: @escaping Act) -> Int? {
        guard let connection = link.usable() else { return nil }
        var entry = channels[channel] ?? (false, [:])
        // The replies are lists, and come as what is published does; only a refusal would come here.
        guard !entry.waiters.isEmpty || connection.sendWithoutReply(RedisCommand("SUBSCRIBE", channel)) else {
            return nil
        }
        lastNumber += 1
        entry.waiters[lastNumber] = act
        channels[channel] = entry
        let number = lastNumber
        if entry.isSubscribed { act(false) }
        return number
    }

    func endWait(_ number: Int, on channel: [UInt8]) {
        guard channels[channel]?.waiters.removeValue(forKey: number) != nil else { return }
        guard channels[channel]?.waiters.isEmpty == true else { return }
        channels[channel] = nil
        _ = link.usable()?.sendWithoutReply(RedisCommand("UNSUBSCRIBE", channel))
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
        let waiting = channels[channel]?.waiters.keys.sorted() ?? []
        for number in waiting { channels[channel]?.waiters[number]?(isPublished) }
    }

    func close() { link.shutDown() }

    func networkChanged() { link.networkChanged() }
}
