import CSystem.Linux
public import DNSWire
import Glibc

/// The signals that the daemon handles.
public enum Signal: Int32, CaseIterable, Sendable {
    /// SIGHUP: read the configuration again.
    case hangUp = 1
    /// SIGINT: as `terminate`, from the keyboard.
    case interrupt = 2
    /// SIGTERM: drain and exit.
    case terminate = 15

    /// Blocks these signals, so that the loop reads them, and ignores those of a write that fails all the same: SIGPIPE, and
    /// SIGXFSZ where a file may become no longer (`ulimit -f`).
    ///
    /// Called before the first thread is started: threads inherit the mask, and one that was started earlier would
    /// receive a signal and end the process.
    public static func block() {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for each in allCases { unsafe sigaddset(&set, each.rawValue) }
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        for write in [SIGPIPE, SIGXFSZ] { signal(write, SIG_IGN) }
    }
}

/// Delivers signals on the loop, as ordinary calls: no signal handler interrupts any code.
@Loop
public final class SignalWatch: Sendable {
    private nonisolated let descriptor: Descriptor
    private var watch: Watch?

    /// Calls `handler` for each signal until `cancel()`. `Signal.block()` must have been called first.
    ///
    /// Equal signals that arrive before the loop reads them are merged into one.
    public init(on loop: EventLoop, _ handler: @escaping @Loop (Signal) -> Void) throws(SystemError) {
        let numbers = Signal.allCases.map(\.rawValue)
        let number = unsafe try checked(clinux_signalfd_create(numbers, Int32(numbers.count)), "create signalfd")
        descriptor = Descriptor(owning: number)
        watch = try loop.watch(number, for: .readable) { _ in
            while let signal = Signal(rawValue: clinux_signalfd_take(number)) { handler(signal) }
        }
    }

    /// Stops watching; `handler` is not called any more. The server watches as long as it runs: for tests, which share
    /// a loop.
    public func cancel() {
        watch.take()?.cancel()
    }
}
