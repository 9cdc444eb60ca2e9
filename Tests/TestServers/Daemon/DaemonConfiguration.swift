/// Parts of configurations that tests combine.
package enum DaemonConfiguration {
    /// The account that the tests use.
    package static let account = "139450"

    /// A `[[provider]]` of type `aliyun`.
    ///
    /// - Parameter extra: more lines of the table.
    package static func aliyun(_ url: String, name: String = "vendor", secret: String = "", _ extra: String = "")
        -> String
    {
        """
        [[provider]]
        type = "aliyun"
        name = "\(name)"
        account = "\(account)"
        \(secret.isEmpty ? "" : "secret = \"\(secret)\"")
        url = "\(url)"
        \(extra)

        """
    }

    /// A `[[provider]]` of type `doh`.
    package static func doh(_ url: String, name: String = "doh", _ extra: String = "") -> String {
        """
        [[provider]]
        type = "doh"
        name = "\(name)"
        url = "\(url)/dns-query"
        \(extra)

        """
    }

    /// A `[route]` table.
    package static func route(
        mode: String? = nil, protect: [String]? = nil, bypass: [String]? = nil, forward: [String: TestAddress] = [:]
    ) -> String {
        var lines = ["[route]"]
        if let mode { lines.append("mode = \"\(mode)\"") }
        if let protect { lines.append("protect = \(list(protect))") }
        if let bypass { lines.append("bypass = \(list(bypass))") }
        for (suffix, server) in forward.sorted(by: { $0.key < $1.key }) {
            lines += ["[[forward]]", "suffixes = \(list([suffix]))", "servers = \(list(["\(server)"]))"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Stands for a control socket in the daemon's own folder, which is that of its configuration.
    package static let ownSocket = "/OWN-FOLDER/control.sock"

    /// The tables that isolate a test: given LocalDNS servers, nothing on disk and no control socket unless given, a full
    /// log.
    ///
    /// - Parameters:
    ///   - localDNS: nil: an address without a server.
    ///   - ports: the ports on which certificates are checked; nil: the default.
    ///   - disk: the path of the cache's file; empty: none.
    ///   - diskLines: more lines of the `[cache.disk]` table.
    ///   - control: the path of the control socket; empty: none.
    ///   - controlLines: more lines of the `[control]` table.
    ///   - resolvConf: the file from which the search list is read; nil: the system's.
    package static func rest(
        localDNS: TestAddress? = nil, check: String = "off", ports: [UInt16]? = nil, log: String = "debug",
        disk: String = "", diskLines: String = "", control: String = "", controlLines: String = "",
        resolvConf: String? = nil
    ) -> String {
        """
        [localdns]
        servers = \(list(["\(localDNS ?? TestAddress("127.0.0.1", port: 9))"]))
        certificate_check = "\(check)"
        \(ports.map { "certificate_ports = \($0)" } ?? "")
        \(resolvConf.map { "resolv_conf = \"\($0)\"" } ?? "")
        [cache.disk]
        path = "\(disk)"
        \(diskLines)
        [control]
        socket = "\(control)"
        \(controlLines)
        [log]
        level = "\(log)"

        """
    }

    package static func list(_ items: [String]) -> String {
        "[" + items.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    }
}
