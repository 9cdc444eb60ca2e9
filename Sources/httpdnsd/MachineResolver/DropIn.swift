import Glibc
import Platform
import Upstreams

/// A file of ours in a folder where another program looks for its configuration.
struct DropIn {
    /// What the program is called.
    let program: String
    let path: String
    /// What the program is to do; without the comment above.
    let text: String
    /// Makes the program read it, once it is there and once it is gone; empty: it does so by itself.
    let reload: [String]

    /// How each begins. The second form says that its folder goes with it.
    private static let mark = "# Written by `httpdnsd resolver on`, removed by `httpdnsd resolver off`"

    /// Whether it is there, and ours.
    func isThere(_ files: MachineFiles) -> Bool { files.text(of: path)?.hasPrefix(Self.mark) == true }

    /// Puts it in place. Returns false when it was there, the same.
    func put(_ files: MachineFiles) throws -> Bool {
        let there = files.text(of: path)
        if let there, !there.hasPrefix(Self.mark) {
            throw CommandFailure(
                "\(files.root + path) is there already, and not of `httpdnsd resolver`: remove it")
        }
        let hasMadeFolder = try files.makeFolder(MachineFiles.folder(of: path))
        let hadMadeFolder = there.map(Self.madeItsFolder) ?? false
        let whole = Self.mark + (hasMadeFolder || hadMadeFolder ? ", with its folder" : "") + "\n" + text
        if whole == there { return false }
        try files.write(whole, to: path)
        return true
    }

    /// Removes it, if it is there and ours. Returns false when it was not.
    func remove(_ files: MachineFiles) throws(SystemError) -> Bool {
        guard let there = files.text(of: path), there.hasPrefix(Self.mark) else { return false }
        try files.remove(path)
        if Self.madeItsFolder(there) { files.removeFolder(MachineFiles.folder(of: path)) }
        return true
    }

    private static func madeItsFolder(_ text: String) -> Bool { text.hasPrefix(mark + ", with its folder\n") }

    /// Makes the program read it. Returns what to do when that failed; nil when it was done.
    func reloadProgram() -> String? {
        guard !reload.isEmpty, !succeeds(reload) else { return nil }
        return "\(program) has not read \(path) yet: run `\(reload.joined(separator: " "))`"
    }
}

extension DropIn {
    /// systemd-resolved asks this server, and no other, for every name that no VPN claims.
    ///
    /// - Parameter server: address and port; the port may be missing when it is 53.
    static func systemdResolved(_ server: String) -> DropIn {
        // The last name of all: the empty DNS= takes away what files before it name.
        DropIn(
            program: "systemd-resolved", path: "/etc/systemd/resolved.conf.d/zz-httpdnsd.conf",
            text: "[Resolve]\nDNS=\nDNS=\(server)\nDomains=~.\nDNSSEC=no\nDNSOverTLS=no\n",
            reload: ["systemctl", "try-reload-or-restart", "systemd-resolved.service"])
    }

    /// NetworkManager leaves /etc/resolv.conf alone, and goes on writing its list below /run.
    static let networkManager = DropIn(
        program: "NetworkManager", path: "/etc/NetworkManager/conf.d/zz-httpdnsd.conf",
        text: "[main]\nrc-manager=unmanaged\n",
        reload: ["systemctl", "try-reload-or-restart", "NetworkManager.service"])

    /// dhclient, which ifupdown uses too, writes what a DHCP server says to where LocalDNS is looked for.
    ///
    /// Where resolvconf is installed its own hook comes later, and goes before this one.
    static let dhclient = DropIn(
        program: "dhclient", path: "/etc/dhcp/dhclient-enter-hooks.d/httpdnsd",
        text: """
            make_resolv_conf() {
                before=\(LocalDNSServers.replaced(LocalDNSServers.resolvConf))
                [ -n "$new_domain_name_servers$new_dhcp6_name_servers" ] && [ ! -L "$before" ] || return 0
                {
                    [ -z "$new_domain_search$new_domain_name" ] || echo "search ${new_domain_search:-$new_domain_name}"
                    for server in $new_domain_name_servers $new_dhcp6_name_servers; do
                        case "$server" in
                            [Ff][Ee]80:*) server="$server%$interface" ;;
                        esac
                        echo "nameserver $server"
                    done
                } >"$before.new-dhclient" && mv -f "$before.new-dhclient" "$before"
            }

            """, reload: [])

    /// cloud-init leaves /etc/resolv.conf alone at the next start.
    static let cloudInit = DropIn(
        program: "cloud-init", path: "/etc/cloud/cloud.cfg.d/zz-httpdnsd.cfg", text: "manage_resolv_conf: false\n",
        reload: [])
}

/// Runs another program, looked up in PATH, to its end. Its output is ours.
///
/// - Returns: whether it could be started, and ended with status 0.
private func succeeds(_ words: [String]) -> Bool {
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var process: pid_t = 0
    guard unsafe posix_spawnp(&process, words[0], nil, nil, &arguments, environ) == 0 else { return false }
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) < 0 { if errno != EINTR { return false } }
    return status == 0
}

/// Docker's daemon.json: what its containers ask. They cannot reach the host's 127.0.0.1, and Docker would give them 8.8.8.8.
///
/// What was there is at `before`, an empty file where there was nothing.
struct DockerDaemon {
    static let folder = "/etc/docker"
    private static let file = folder + "/daemon.json"
    private static let before = LocalDNSServers.replaced(file)

    let files: MachineFiles

    /// Names `server` in it, where Docker is installed.
    ///
    /// - Parameter server: an address that containers reach; nil when the server has none.
    /// - Returns: what the user is to know of it; nil where nothing was done.
    func on(_ server: String?) throws(SystemError) -> String? {
        guard files.exists(Self.folder) else { return nil }
        guard let server else {
            return
                "containers of Docker do not reach 127.0.0.1, and get 8.8.8.8: write an address of Docker's bridge into "
                + "listen.addresses as well, such as 172.17.0.1:53, restart httpdnsd, and try again"
        }
        let wasOurs = isOurs
        let was = files.text(of: wasOurs ? Self.before : Self.file) ?? ""
        guard let new = Self.text(was, naming: server) else {
            return
                "\(files.root + Self.file) names servers (\"dns\"), is no object or longer than 64 KiB, and stays: write [\"\(server)\"] there"
        }
        guard new != files.text(of: Self.file) else { return nil }
        if !wasOurs {
            if files.exists(Self.file) {
                try files.copyName(Self.file, to: Self.before)
            } else {
                try files.write("", to: Self.before)
            }
        }
        do throws(SystemError) {
            // What not every user may read stays so.
            try files.write(new, to: Self.file, mode: files.mode(of: Self.file) ?? 0o644)
        } catch {
            if !wasOurs { try? files.remove(Self.before) }
            throw error
        }
        return "new containers of Docker ask \(server) once Docker is restarted"
    }

    /// Puts back what was there, unless another program has written it since.
    ///
    /// - Returns: what the user is to know of it; nil where nothing was done.
    func off() throws(SystemError) -> String? {
        guard let was = files.text(of: Self.before) else { return nil }
        guard isOurs else {
            try files.remove(Self.before)
            return "\(files.root + Self.file) was changed since, and stays: look at \"dns\" in it"
        }
        if was.isEmpty {
            try files.remove(Self.file)
            try files.remove(Self.before)
        } else {
            try files.move(Self.before, to: Self.file)
        }
        return "new containers of Docker ask as before once Docker is restarted"
    }

    /// Whether the file is what was made of the one before.
    private var isOurs: Bool {
        guard let was = files.text(of: Self.before), let now = files.text(of: Self.file) else { return false }
        let named = now.split(separator: "\"", omittingEmptySubsequences: false)
        guard named.count > 3, named[1] == "dns" else { return false }
        return Self.text(was, naming: String(named[3])) == now
    }

    /// The text of an object with one more member, the first; nil when it has that member, or is no object.
    private static func text(_ was: String, naming server: String) -> String? {
        let member = "\"dns\": [\"\(server)\"]"
        let inside = was.drop(while: \.isWhitespace)
        if inside.isEmpty { return "{\(member)}\n" }
        // Of a file that is longer than what is read, the end is missing.
        guard inside.first == "{", inside.last(where: { !$0.isWhitespace }) == "}", !was.contains("\"dns\"") else {
            return nil
        }
        let rest = inside.dropFirst()
        return "{\(member)" + (rest.drop(while: \.isWhitespace).first == "}" ? "" : ",") + rest
    }
}
