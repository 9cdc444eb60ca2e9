import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What the server has given up once it serves.
    struct SandboxTests {
        private static func configuration(disk: String = "", control: String = "") -> String {
            DaemonConfiguration.doh("https://192.0.2.1") + DaemonConfiguration.rest(disk: disk, control: control)
        }

        /// A line of `/proc/PID/task/TID/status` for every thread: its value.
        private func threads(_ daemon: Daemon, _ key: String) throws -> [String] {
            let tasks = "/proc/\(daemon.pid)/task"
            return try FileManager.default.contentsOfDirectory(atPath: tasks).compactMap { task in
                // It may have ended meanwhile.
                guard let status = try? String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8) else {
                    return nil
                }
                let line = status.split(separator: "\n").first { $0.hasPrefix(key + ":") }
                return line?.split(separator: "\t").last.map(String.init) ?? ""
            }
        }

        @Test func `one line says what is in force, and it is so for every thread`() throws {
            let daemon = try Daemon(
                Self.configuration(),
                wrapper: ["sh", "-c", "ulimit -S -c \"$(ulimit -H -c)\" && exec \"$@\"", "sh"])
            #expect(
                daemon.waitForLog {
                    $0.contains("sandbox: no capabilities, no program is executed, files are written nowhere")
                })
            #expect(daemon.errors.split(separator: "\n").count { $0.contains("sandbox") } == 1)
            #expect(try Set(threads(daemon, "Seccomp")) == ["2"])
            #expect(try Set(threads(daemon, "NoNewPrivs")) == ["1"])
            for key in ["CapEff", "CapPrm", "CapAmb"] {
                #expect(try Set(threads(daemon, key)) == ["0000000000000000"], "\(key)")
            }
            // Nor may it write a core dump, with secrets in it, whatever limit it was started with.
            let limits = try String(contentsOfFile: "/proc/\(daemon.pid)/limits", encoding: .utf8)
            let cores = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size ") }
            #expect(cores?.split(separator: " ").suffix(3) == ["0", "0", "bytes"])
            #expect(try daemon.stop() == 0)
        }

        @Test func `the folders of the cache and of the control socket are named`() throws {
            let directory = try TemporaryDirectory()
            let daemon = try Daemon(
                Self.configuration(disk: directory.path + "/disk/cache.db", control: directory.path + "/run/c.sock"))
            #expect(
                daemon.waitForLog {
                    $0.contains("written below \(directory.path)/disk and \(directory.path)/run alone")
                })
            #expect(try daemon.stop() == 0)
            #expect(access(directory.path + "/disk/cache.db", F_OK) == 0)
            #expect(access(directory.path + "/run/c.sock", F_OK) != 0)
        }

        @Test func `with --no-sandbox nothing is given up`() throws {
            let daemon = try Daemon(Self.configuration(), options: ["--no-sandbox"])
            #expect(try Set(threads(daemon, "Seccomp")) == ["0"])
            #expect(!daemon.errors.contains("sandbox:"))
            #expect(try daemon.stop() == 0)
        }

        @Test func `in a folder of the system the socket's file alone is made, and the next start replaces it`() throws
        {
            let path = "/run/httpdnsd-test-\(getpid()).sock"
            defer { unlink(path) }
            let configuration = Self.configuration(control: path)
            for _ in 0..<2 {
                let daemon = try Daemon(configuration)
                #expect(daemon.waitForLog { $0.contains("files are written nowhere") })
                #expect(daemon.errors.contains("its folder /run is the system's"))
                #expect(try daemon.run("status").status == 0)
                #expect(try daemon.stop() == 0)
                #expect(access(path, F_OK) == 0)
            }
        }

        @Test func `a server whose socket's file stays is replaced all the same`() throws {
            let path = "/run/httpdnsd-test-\(getpid()).sock"
            defer { for end in ["", ".replace"] { unlink(path + end) } }
            let configuration = Self.configuration(control: path)
            let first = try Daemon(configuration)
            let second = try Daemon(configuration, port: first.address.port, options: ["--replace"])
            #expect(try first.finish().status == 0)
            #expect(try second.status().contains("process \(second.pid)"))
            #expect(!second.errors.contains("without a control socket"), "\(second.errors)")
        }

        @Test func `Control-C in its terminal ends it`() throws {
            let directory = try TemporaryDirectory()
            let port = try FreePort.next(on: ["127.0.0.1"])
            let file = try directory.write(
                Daemon.listenTable([TestAddress("127.0.0.1", port: port)]) + Self.configuration(), to: "httpdnsd.toml")
            // A terminal of its own, as of a shell: the key is typed once the server serves.
            let script = """
                import os, pty, sys
                pid, terminal = pty.fork()
                if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
                text = b""
                while b"serving DNS" not in text: text += os.read(terminal, 4096)
                os.write(terminal, b"\\x03")
                try:
                    while data := os.read(terminal, 4096): text += data
                except OSError: pass
                print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), "stopping" in text.decode())
                """
            let output = try ChildProcess.succeed(
                ["python3", "-c", script, Daemon.executable, "serve", "--config", file])
            #expect(output == "0 True\n")
        }
    }
}
