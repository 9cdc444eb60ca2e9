import Foundation
import TestSupport

/// A redis-server on the loopback interface, with nothing on disk; killed when the last reference is released.
package final class RedisServer: Sendable {
    package let address: TestAddress
    /// The path of its Unix socket.
    package var socket: String { directory.path + "/redis.sock" }
    private let password: String
    private let authority: String
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - port: nil: a free one.
    ///   - password: empty: none is wanted.
    ///   - tls: its certificate, and the authority that signed it; nil: it has no TLS.
    ///   - options: more words of its command line.
    package init(
        port: UInt16? = nil, password: String = "",
        tls: (leaf: TestCertificates.Leaf, authority: String)? = nil, options: [String] = []
    ) throws {
        let address = try TestAddress("127.0.0.1", port: port ?? FreePort.next())
        let directory = try TemporaryDirectory()
        (self.address, self.directory, self.password) = (address, directory, password)
        authority = tls?.authority ?? ""
        var words = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        words += ["--port", tls == nil ? "\(address.port)" : "0"]
        if !password.isEmpty { words += ["--requirepass", password] }
        if let tls {
            words += ["--tls-port", "\(address.port)", "--tls-cert-file", tls.leaf.certificate]
            words += ["--tls-key-file", tls.leaf.key, "--tls-ca-cert-file", tls.authority, "--tls-auth-clients", "no"]
        }
        process = try Self.start(words + options, directory)
    }

    /// Starts it by a configuration file, of which `/etc/redis` is made another folder, and the port a free one.
    package init(configuration: String, password: String, folder: String) throws {
        let address = try TestAddress("127.0.0.1", port: FreePort.next())
        let directory = try TemporaryDirectory()
        (self.address, self.directory, self.password) = (address, directory, password)
        authority = folder + "/ca.pem"
        let text = configuration.replacing("/etc/redis/", with: folder + "/")
            .replacing("tls-port 6379", with: "tls-port \(address.port)")
        process = try Self.start([directory.write(text, to: "redis.conf")], directory)
    }

    private static func start(_ words: [String], _ directory: TemporaryDirectory) throws -> ChildProcess {
        try ChildProcess(
            server: ["redis-server"] + words
                + ["--dir", directory.path, "--unixsocket", directory.path + "/redis.sock"],
            until: "Ready to accept connections")
    }

    /// The URL for a daemon, with the password.
    package var url: String {
        let account = password.isEmpty ? "" : ":\(password)@"
        return "redis\(authority.isEmpty ? "" : "s")://\(account)\(address)"
    }

    /// Runs a command of redis-cli.
    ///
    /// - Returns: its output without the end of the last line.
    @discardableResult
    package func run(_ words: String...) throws -> String { try run(words: words) }

    /// The same of words in a list.
    @discardableResult
    package func run(words: [String]) throws -> String {
        let account = password.isEmpty ? [] : ["-a", password, "--no-auth-warning"]
        let output = try ChildProcess.succeed(["redis-cli", "-s", socket] + account + words)
        return output.hasSuffix("\n") ? String(output.dropLast()) : output
    }

    /// The names of the answers in it, those left out of which a daemon has the lease.
    ///
    /// A lease may end between the list and the look at its value, which then has no length.
    package var names: [String] {
        get throws {
            let noAnswer: Set = ["0", "\("leased".utf8.count)"]
            return try run("KEYS", "*").split(separator: "\n").map(String.init)
                .filter { try !noAnswer.contains(run("STRLEN", $0)) }
        }
    }

    /// Waits until it holds so many answers.
    package func waitForAnswers(_ count: Int) throws -> Bool {
        try eventually { try names.count == count }
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Kills it, and waits for its end.
    package func kill() throws {
        process.signal(SIGKILL)
        _ = try process.finish(within: .patience)
    }
}
