import TestSupport

/// A wrong time of day for processes that are started with its environment.
package final class WrongClock: Sendable {
    private let library: Preloaded

    /// - Parameter seconds: how far it is ahead of this machine's clock.
    package init(ahead seconds: Int64) throws {
        library = try Preloaded(Self.source)
        try set(ahead: seconds)
    }

    /// Sets it, also for running processes.
    package func set(ahead seconds: Int64) throws { try library.directory.write("\(seconds)", to: "offset") }

    /// The environment to start a process with.
    package var environment: [String: String] {
        library.environment.merging(["WRONG_CLOCK": library.directory.path + "/offset"]) { $1 }
    }

    private static let source = """
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static time_t offset(void) {
            char text[32] = "";
            int file = open(getenv("WRONG_CLOCK"), O_RDONLY | O_CLOEXEC);
            if (file < 0) return 0;
            ssize_t length = read(file, text, sizeof text - 1);
            close(file);
            return length > 0 ? atoll(text) : 0;
        }

        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = (int)syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
            return result;
        }

        int gettimeofday(struct timeval *now, void *zone) {
            struct timespec time;
            (void)zone;
            if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
            now->tv_sec = time.tv_sec;
            now->tv_usec = time.tv_nsec / 1000;
            return 0;
        }

        time_t time(time_t *now) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            if (now) *now = time.tv_sec;
            return time.tv_sec;
        }
        """
}
