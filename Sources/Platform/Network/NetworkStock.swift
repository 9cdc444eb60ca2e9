/// What is known of the host's network: asked of the kernel in dumps, and followed by its reports.
struct NetworkStock {
    /// RTM_GETLINK and RTM_GETADDR, the dumps requested.
    static let kinds: [UInt16] = [18, 22]

    private(set) var state = NetworkState()
    /// Requests a dump.
    ///
    /// - Returns: whether the kernel took the request.
    private let ask: (UInt16) -> Bool
    /// The dumps still to be requested, whose objects are unknown until then.
    private var wanted: [UInt16] = []
    /// Whether a dump was requested that has not ended; the kernel refuses another one until then.
    private var isRunning = false
    /// Whether messages were lost meanwhile: then it starts again at the end.
    private var isOutdated = false

    init(ask: @escaping (UInt16) -> Bool) { self.ask = ask }

    /// Starts again: some messages were lost, or none were read yet.
    mutating func take() {
        isOutdated = isRunning
        guard !isRunning else { return }
        state = NetworkState()
        wanted = Self.kinds
        askNext()
    }

    private mutating func askNext() {
        // If a request fails, each address counts as new at its next report: a needless change, but no missed one.
        while !isRunning, !wanted.isEmpty { isRunning = ask(wanted.removeFirst()) }
    }

    private mutating func endDump() {
        isRunning = false
        if isOutdated { take() } else { askNext() }
    }

    /// Applies the messages of a datagram.
    ///
    /// - Returns: whether the network has changed.
    mutating func take(_ datagram: [UInt8]) -> Bool {
        var isChanged = false
        var messages = RouteMessages(datagram)
        while let (message, isDump) = messages.next() {
            if state.take(message, isDump: isDump) { isChanged = true }
            if message == .dumpEnded { endDump() }
        }
        // A failed request has no end-of-dump message.
        if messages.isBroken { endDump() }
        return isChanged
    }
}
