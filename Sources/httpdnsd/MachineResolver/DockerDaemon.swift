import Platform
import Upstreams

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
        let was = isOurs ? files.text(of: Self.before) ?? "" : files.text(of: Self.file) ?? ""
        guard let new = Self.text(was, naming: server) else {
            return
                "\(files.root + Self.file) names servers (\"dns\") or is no object, and stays: write [\"\(server)\"] there"
        }
        guard new != files.text(of: Self.file) else { return nil }
        if !isOurs {
            if files.exists(Self.file) {
                try files.copyName(Self.file, to: Self.before)
            } else {
                try files.write("", to: Self.before)
            }
        }
        try files.write(new, to: Self.file)
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
        guard inside.first == "{", !was.contains("\"dns\"") else { return nil }
        let rest = inside.dropFirst()
        return "{\(member)" + (rest.drop(while: \.isWhitespace).first == "}" ? "" : ",") + rest
    }
}
