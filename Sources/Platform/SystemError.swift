import CLinux
import Glibc

/// A failed system call, as a text for the log: "listen on 127.0.0.1:53 (UDP): Address already in use".
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error number, such as `EADDRINUSE`.
    package let code: Int32
    /// What was attempted, and on what: "listen on 127.0.0.1:53 (UDP)".
    package let operation: String
    /// What the user can do about it, if known; one line without a final full stop.
    package let advice: String?

    package init(code: Int32, operation: String, advice: String? = nil) {
        self.code = code
        self.operation = operation
        self.advice = advice
    }

    /// The error of the C call that just returned on this thread.
    package static func last(_ operation: String) -> SystemError {
        SystemError(code: errno, operation: operation)
    }

    /// The system's own text for the error number.
    package var reason: String {
        unsafe clinux_error_text(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    package var description: String {
        advice.map { "\(operation): \(reason); \($0)" } ?? "\(operation): \(reason)"
    }
}

/// Returns a result of CLinux, or throws the error number it carries.
func checked(_ result: Int32, _ operation: @autoclosure () -> String) throws(SystemError) -> Int32 {
    guard result < 0 else { return result }
    throw SystemError(code: -result, operation: operation())
}
