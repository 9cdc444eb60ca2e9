import CSystem.Linux
import Glibc
import Synchronization

/// A named thread, for work that must not run on the loop's: UDP receivers, the disk, the log, the files of a reload.
///
/// It inherits the signal mask of its creator, except that `interrupt` reaches it: block signals first. Unless joined, it
/// runs detached.
public final class NamedThread: Sendable {
    /// The thread to join; nil once joined.
    private let handle: Mutex<pthread_t?>

    /// Starts `body` on a new thread.
    ///
    /// - Parameter name: shown by `top -H`; cut after 15 bytes.
    /// - Throws: `EAGAIN` when the limit of threads or memory is reached.
    public init(_ name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
        let result = unsafe pthread_create(&thread, nil, runThread, start.toOpaque())
        guard result == 0 else {
            unsafe start.release()
            throw SystemError(code: result, operation: "start thread \(name)")
        }
        handle = Mutex(thread)
    }

    /// Runs `body`, which may block, on a new thread, and returns its result.
    ///
    /// - Throws: when no thread can be created.
    public static func run<Value: Sendable>(
        _ name: String, _ body: @escaping @Sendable () -> Value
    ) async throws(SystemError) -> Value {
        let result: Result<Value, SystemError> = await withCheckedContinuation { continuation in
            do throws(SystemError) {
                _ = try NamedThread(name) { continuation.resume(returning: .success(body())) }
            } catch {
                continuation.resume(returning: .failure(error))
            }
        }
        return try result.get()
    }

    deinit {
        if let thread = handle.withLock({ $0.take() }) { pthread_detach(thread) }
    }

    /// Lets `interrupt` do its work: called once, before it.
    public static func allowInterrupts() { clinux_make_threads_interruptible() }

    /// Makes the system call in which the thread waits fail with `EINTR`. Does nothing to a thread that does not wait, or
    /// was joined.
    public func interrupt() {
        handle.withLock { handle in
            if let handle { pthread_kill(handle, SIGURG) }
        }
    }

    /// Waits for the thread to end. Blocks: not for the loop, except at exit. A second call returns at once.
    public func join() {
        if let thread = handle.withLock({ $0.take() }) { pthread_join(thread, nil) }
    }
}

/// The argument of a new thread.
private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

/// The first function of every thread; at file scope, since C calls it without any isolation.
private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument = unsafe argument else { return nil }
    let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    unsafe clinux_thread_set_name(start.name)
    var interrupt = sigset_t()
    unsafe sigemptyset(&interrupt)
    unsafe sigaddset(&interrupt, SIGURG)
    unsafe pthread_sigmask(SIG_UNBLOCK, &interrupt, nil)
    start.body()
    return nil
}
