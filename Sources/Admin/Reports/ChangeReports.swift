/// The result of `reload`.
package struct ReloadReport: JSONRecord {
    /// Why the file was refused, as `check` prints it; empty when it was accepted.
    package var errors: [String] = []
    package var warnings: [String] = []
    /// Keys that have changed but take effect at the next start only.
    package var restartNeeded: [String] = []
    /// Whether a restart takes what was refused: the cause is what the process has from its start alone, as its environment.
    package var isMendedByRestart = false
    package var generation = 0

    package init() {}

    package static let members: [JSONMember<Self>] = [
        .init("errors", strings: \.errors),
        .init("warnings", strings: \.warnings),
        .init("restart_needed", strings: \.restartNeeded),
        .init("restart_mends", \.isMendedByRestart),
        .init("generation", \.generation),
    ]
}

/// The state of the switch.
package struct SwitchReport: JSONRecord {
    package var isOn = true
    /// Whether the signed policy switches HTTPDNS off, whatever this machine's own switch is.
    package var isOffByPolicy = false
    /// Whether the switch is on disk, and so outlasts the process. Older servers do not say so: they are taken to do it.
    package var isStored = true
    package var generation = 0

    package init() {}

    package init(isOn: Bool, isOffByPolicy: Bool, isStored: Bool, generation: Int) {
        self.isOn = isOn
        self.isOffByPolicy = isOffByPolicy
        self.isStored = isStored
        self.generation = generation
    }

    package static let members: [JSONMember<Self>] = [
        .init("switch", \.isOn, "on", "off"),
        .init("off_by_policy", \.isOffByPolicy, "yes", "no"),
        .init("stored", \.isStored, "yes", "no"),
        .init("generation", \.generation),
    ]
}

/// The result of `cache flush`.
package struct FlushReport: JSONRecord {
    /// The number of answers removed.
    package var removed = 0

    package init() {}

    package init(removed: Int) { self.removed = removed }

    package static let members: [JSONMember<Self>] = [.init("removed", \.removed)]
}

/// What a server has passed to the process that replaces it.
package struct HandoverReport: JSONRecord {
    /// The number of sockets of listen addresses.
    package var sockets = 0

    package init() {}

    package init(sockets: Int) { self.sockets = sockets }

    package static let members: [JSONMember<Self>] = [.init("sockets", \.sockets)]
}
