/// A kernel without IPv6 (`ipv6.disable=1`), for processes that are started with its environment.
package final class NoIPv6: Sendable {
    private let library: Preloaded

    package init() throws { library = try Preloaded(Self.source) }

    /// The environment to start a process with.
    package var environment: [String: String] { library.environment }

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
