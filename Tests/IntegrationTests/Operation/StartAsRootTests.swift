import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What a server is that root has started without `listen.user`.
    struct StartAsRootTests {
        /// The number of the user `httpdnsd` of the machine that a test pretends.
        private static let user = 10_053

        /// A server on a machine that has this line more in /etc/passwd.
        private func daemon(
            _ configuration: String, with account: String?, in directory: TemporaryDirectory, listen: String = "",
            options: [String] = []
        ) throws -> Daemon {
            let users = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
                .split(separator: "\n").filter { !$0.hasPrefix("httpdnsd:") }
            let file = try directory.write(
                (users.map(String.init) + [account ?? ""]).joined(separator: "\n") + "\n", to: "passwd")
            return try Daemon(
                configuration, listen: listen, options: options,
                wrapper: [
                    "unshare", "--mount", "sh", "-c", "mount --bind '\(file)' /etc/passwd && exec \"$@\"", "sh",
                ])
        }

        private func configuration(in directory: TemporaryDirectory) -> String {
            DaemonConfiguration.doh("https://192.0.2.1")
                + DaemonConfiguration.rest(
                    disk: "\(directory.path)/disk/cache.db", control: "\(directory.path)/run/c.sock")
        }

        private func users(of daemon: Daemon) throws -> [String] {
            try daemon.kernelStatus("Uid").map(String.init)
        }

        private func owner(_ path: String) -> Int {
            var status = stat()
            return lstat(path, &status) == 0 ? Int(status.st_uid) : -1
        }

        private static let account = "httpdnsd:x:\(user):\(user)::/nonexistent:/usr/sbin/nologin"

        @Test(.requires(.otherUser)) func `it becomes the user of the package, which has its cache and its socket`()
            throws
        {
            let directory = try TemporaryDirectory()
            #expect(chmod(directory.path, 0o755) == 0)
            let daemon = try daemon(configuration(in: directory), with: Self.account, in: directory)
            #expect(try users(of: daemon) == Array(repeating: "\(Self.user)", count: 4))
            #expect(daemon.waitForLog { $0.contains("it becomes user httpdnsd") })
            let socket = directory.path + "/run/c.sock"
            #expect(owner(socket) == Self.user)
            #expect(try Daemon.run(["status", "--socket", socket]).status == 0)
            #expect(try daemon.stop() == 0)
            #expect(owner(directory.path + "/disk/cache.db") == Self.user)
            #expect(owner(socket) == -1)
            // That files below /tmp are lost.
            #expect(daemon.errors.split(separator: "\n").count { $0.contains("warning") } == 1, "\(daemon.errors)")
        }

        @Test(.requires(.otherUser)) func `without that user it says what it means to be root`() throws {
            let directory = try TemporaryDirectory()
            let daemon = try daemon(configuration(in: directory), with: nil, in: directory)
            #expect(try users(of: daemon) == ["0", "0", "0", "0"])
            #expect(
                daemon.waitForLog {
                    $0.contains("serving as root, since listen.user is empty and there is no user httpdnsd")
                })
        }

        @Test(.requires(.otherUser)) func `with files that the user could not use it stays root, and names the first`()
            throws
        {
            let directory = try TemporaryDirectory()
            #expect(chmod(directory.path, 0o755) == 0 && mkdir(directory.path + "/disk", 0o700) == 0)
            let daemon = try daemon(configuration(in: directory), with: Self.account, in: directory)
            #expect(try users(of: daemon) == ["0", "0", "0", "0"])
            #expect(
                daemon.waitForLog { $0.contains("user httpdnsd cannot use \(directory.path)/disk (Permission denied)") }
            )
        }

        @Test(.requires(.otherUser)) func `check tells a file that its next start reads from a mistake`() throws {
            let directory = try TemporaryDirectory()
            #expect(chmod(directory.path, 0o755) == 0)
            let secret = try directory.write("0123456789abcdef\n", to: "secret")
            #expect(chmod(secret, 0o600) == 0)
            let provider = DaemonConfiguration.aliyun("https://192.0.2.1", "secret_file = \"\(secret)\"")
            let daemon = try daemon(
                provider + configuration(in: directory), with: Self.account, in: directory)
            func check() throws -> ChildProcess.Outcome {
                try daemon.run("check")
            }
            #expect(try users(of: daemon).first == "\(Self.user)")
            #expect(chmod(daemon.configurationFile, 0o644) == 0)
            #expect(try check().status == 0)
            let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
            try (text + "\n[limits]\nmemry = \"1 GiB\"\n").write(
                toFile: daemon.configurationFile, atomically: false, encoding: .utf8)
            #expect(try check().status == 78)
        }

        @Test(.requires(.otherUser)) func `check knows that the next start reads variables that the server cannot`()
            throws
        {
            let directory = try TemporaryDirectory()
            #expect(chmod(directory.path, 0o755) == 0)
            let variables = try directory.write("UNUSED=1\n", to: "variables")
            #expect(chmod(variables, 0o600) == 0)
            let daemon = try daemon(
                configuration(in: directory), with: Self.account, in: directory, options: ["--environment", variables])
            #expect(try users(of: daemon).first == "\(Self.user)" && chmod(daemon.configurationFile, 0o644) == 0)
            #expect(try daemon.run("check").status == 0)
        }

        @Test(.requires(.otherUser)) func `where root is meant, nothing is said of it`() throws {
            let directory = try TemporaryDirectory()
            let daemon = try daemon(
                configuration(in: directory), with: Self.account, in: directory, listen: "user = \"root\"")
            #expect(try users(of: daemon) == ["0", "0", "0", "0"])
            #expect(try daemon.stop() == 0)
            #expect(!daemon.errors.contains("root") && daemon.errors.contains("sandbox: no capabilities"))
        }
    }
}
