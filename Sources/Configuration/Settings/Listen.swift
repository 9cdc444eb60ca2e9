package import DNSWire

extension Configuration {
    /// `[listen]`.
    package struct Listen: SettingsTable {
        /// UDP and TCP on each; at least one, no two equal unless their port is 0.
        package var addresses = [AddressAndPort(.v4(0x7f00_0001), port: 53), AddressAndPort(.v6(1), port: 53)]
        /// For each listen address. 0 to 256; 0 means min(4, CPU affinity, ceiling of the cgroup's `cpu.max`).
        package var udpThreads = 0
        /// Clients from elsewhere get REFUSED.
        package var allow = [AddressPrefix(.v4(0x7f00_0000), length: 8), AddressPrefix(.v6(1), length: 128)]
            .compactMap { $0 }
        /// Empty: the user stays what it is.
        package var user = ""

        package init() {}

        static let settings: [Setting<Listen>] = [
            Setting(
                "addresses", \.addresses, .list(of: .listener, "list of addresses with port"),
                shapesAnswers: false, "Where the server listens, UDP and TCP on each; port 0 takes any free one."),
            Setting(
                "udp_threads", \.udpThreads, .integer(in: 0...256),
                shapesAnswers: false,
                "Threads that answer UDP on each listen address; 0 takes as many as there are CPUs to use, at most 4."),
            Setting(
                "allow", \.allow, .list(of: .prefix, "list of networks"),
                shapesAnswers: false, "Clients that are answered; all others get REFUSED."),
            Setting(
                "user", \.user, .identifier("user name", maximumLength: 32),
                shapesAnswers: false, "The user to become once all sockets are bound; empty stays the same."),
        ]

        mutating func finish(at path: SettingPath, _ reading: Reading) {
            let place = path.appending(key: "addresses")
            if addresses.isEmpty { reading.fail(place, "must hold at least one address") }
            for (index, address) in addresses.enumerated() where address.port != 0 {
                let entry = place.appending(entry: index + 1)
                let earlier = addresses[..<index]
                if earlier.contains(address) {
                    reading.fail(entry, "\"\(address)\" is listed twice")
                } else if let other = earlier.first(where: { $0.overlaps(address) }) {
                    reading.fail(entry, "\"\(address)\" and \"\(other)\" overlap: leave out one of them")
                }
            }
            if allow.isEmpty {
                reading.warn(path.appending(key: "allow"), "is empty: every client will be refused")
            }
            if let all = allow.first(where: { $0.length == 0 }),
                let open = addresses.first(where: { !$0.address.isLoopback })
            {
                reading.warn(
                    path.appending(key: "allow"),
                    "\(quoted(all.description)) answers everyone that reaches \(quoted(open.description)): strangers can have"
                        + " others flooded with replies; list the networks of your clients")
            }
        }
    }
}
