import ArgumentParser

/// The exit statuses that scripts may rely on.
enum ExitStatus: Int32, Error {
    /// The answer is no: nothing found, or the server cannot start.
    case no = 1
    case usage = 2
    /// EX_CONFIG of sysexits.h.
    case configuration = 78

    /// To be thrown out of a command once its message is printed.
    var exitCode: ExitCode { ExitCode(rawValue) }
}
