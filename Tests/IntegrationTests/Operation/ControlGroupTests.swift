import Foundation
import Glibc
import TestServers
import Testing

extension Integration {
    /// The control socket in the hands of a group: `control.group` and `control.mode`.
    struct ControlGroupTests {
        /// A group that every Debian has, and its number.
        private static let group = "games"

        private func number() throws -> gid_t { try #require(getgrnam(Self.group)).pointee.gr_gid }

        /// Executes `status` as a user that is in this group alone.
        private func status(_ socket: String, group: gid_t) throws -> ChildProcess.Outcome {
            try ChildProcess.run([
                "setpriv", "--reuid=65534", "--regid=\(group)", "--clear-groups", Daemon.executable, "status",
                "--socket", socket,
            ])
        }

        @Test(.requires(.otherUser)) func `a user of the group uses the socket, and a stranger does not`() throws {
            let stage = try ControlStage(control: "group = \"\(Self.group)\"")
            let member = try status(stage.socket, group: number())
            #expect(member.status == 0, "\(member.errors)")
            #expect(member.output.contains("process \(stage.daemon.pid)"))
            let stranger = try status(stage.socket, group: 65_534)
            #expect(stranger.status == 1)
            #expect(stranger.errors.contains("no leave to use the control socket"))
        }

        @Test(.requires(.otherUser)) func `after giving up root the socket belongs to the user and to the group`()
            throws
        {
            let stage = try ControlStage(
                listen: "user = \"nobody\"", control: "group = \"\(Self.group)\"\nmode = \"0660\"")
            var found = stat()
            #expect(lstat(stage.socket, &found) == 0)
            #expect(found.st_uid == 65_534 && found.st_mode & 0o7777 == 0o660)
            #expect(found.st_gid == (try number()))
            #expect(try stage.daemon.stop() == 0)
            #expect(lstat(stage.socket, &found) != 0)
        }

        @Test(.requires(.otherUser)) func `with mode 0666 every user of the machine uses the socket`() throws {
            let stage = try ControlStage(control: "mode = \"0666\"")
            #expect(try status(stage.socket, group: 65_534).status == 0)
            #expect(stage.daemon.waitForLog { $0.contains("control.mode") })
        }

        @Test func `check warns of a group that is not here, and serve goes on without the socket`() throws {
            let stage = try ControlStage(control: "group = \"no-such-group\"")
            #expect(
                stage.daemon.waitForLog {
                    $0.contains("there is no such group on this machine; serving without a control socket")
                })
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            let outcome = try stage.run("check")
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("warning: control.group: "))
            #expect(outcome.errors.contains("there is no such group on this machine"))
        }
    }
}
