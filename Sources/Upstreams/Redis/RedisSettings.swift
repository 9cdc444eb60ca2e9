package import HTTPDNS

/// Where a Redis is, and how it is asked.
package struct RedisSettings: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        /// - Parameters:
        ///   - host: a name, or an address as text.
        ///   - usesTLS: whether the server must show a certificate for the host.
        case host(String, port: UInt16, usesTLS: Bool)
        /// The path of a Unix socket, at most 107 bytes.
        case path(String)
    }

    package var place: Place
    /// Empty: the server's default user.
    package var user: String
    /// Nil: none is sent.
    package var password: Secret?
    /// The number of the database, which the server counts from 0.
    package var database: Int
    /// A PEM file of trust anchors; empty: the system's.
    package var caFile: String
    /// How long one look-up may take.
    package var timeout: Duration

    package init(
        place: Place, user: String = "", password: Secret? = nil, database: Int = 0, caFile: String = "",
        timeout: Duration = .milliseconds(50)
    ) {
        self.place = place
        self.user = user
        self.password = password
        self.database = database
        self.caFile = caFile
        self.timeout = timeout
    }

    /// The commands that every connection begins with.
    var greeting: [RedisCommand] {
        var commands: [RedisCommand] = []
        if let password {
            let words = (user.isEmpty ? [] : [user]) + [password.value]
            commands.append(RedisCommand("AUTH", words.map { Array($0.utf8) }))
        }
        if database != 0 { commands.append(RedisCommand("SELECT", Array("\(database)".utf8))) }
        return commands
    }

    /// Host and port, or the path, for logs.
    package var placeText: String {
        switch place {
        case .host(let host, let port, _): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .path(let path): path
        }
    }
}
