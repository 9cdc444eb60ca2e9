import Foundation
import TestSupport

/// Makes the threads of a process hang in a system call that it waits in, for a process started with its environment.
package final class HungCalls: Sendable {
    /// What can hang: the event loop, or the threads that receive over UDP.
    package enum Call: String, Sendable, CaseIterable { case loop = "epoll_wait", receive = "recvmmsg" }

    private let library: Preloaded

    package init() throws { library = try Preloaded(Self.source) }

    /// Makes each of these calls hang from now on, at its next return, until `release`.
    package func hang(_ call: Call) throws { try library.directory.write("", to: call.rawValue) }

    package func release(_ call: Call) throws {
        try FileManager.default.removeItem(atPath: library.directory.path + "/" + call.rawValue)
    }

    /// The environment to start a process with.
    package var environment: [String: String] {
        library.environment.merging(["HUNG_CALLS": library.directory.path]) { $1 }
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <poll.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/epoll.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        static void hang(const char *call) {
            int error = errno;
            char path[512];
            snprintf(path, sizeof path, "%s/%s", getenv("HUNG_CALLS"), call);
            while (access(path, F_OK) == 0) poll(NULL, 0, 5);
            errno = error;
        }

        int epoll_wait(int epoll, struct epoll_event *events, int count, int timeout) {
            int result = (int)syscall(SYS_epoll_pwait, epoll, events, count, timeout, NULL, 8);
            hang("epoll_wait");
            return result;
        }

        int recvmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
            int result = (int)syscall(SYS_recvmmsg, socket, messages, count, flags, timeout);
            hang("recvmmsg");
            return result;
        }
        """
}
