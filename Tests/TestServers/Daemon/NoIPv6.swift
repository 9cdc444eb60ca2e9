import TestSupport

/// A kernel without IPv6 (`ipv6.disable=1`), for processes that are started with its environment.
package final class NoIPv6: Sendable {
    private let directory: TemporaryDirectory

    package init() throws {
        directory = try TemporaryDirectory()
        let source = try directory.write(Self.source, to: "family.c")
        try ChildProcess.succeed(["gcc", "-shared", "-fPIC", "-O1", "-o", directory.path + "/family.so", source])
    }

    /// The environment to start a process with.
    package var environment: [String: String] { ["LD_PRELOAD": directory.path + "/family.so"] }

    private static let source = """
        #include <errno.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        int socket(int family, int type, int protocol) {
            if (family != AF_INET6) return (int)syscall(SYS_socket, family, type, protocol);
            errno = EAFNOSUPPORT;
            return -1;
        }
        """
}
