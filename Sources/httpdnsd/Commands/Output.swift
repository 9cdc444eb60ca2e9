import Admin
import ArgumentParser
import Configuration
import DiskCache
import HTTPDNS
import Platform

@preconcurrency @unsafe import Glibc

// The doors by which commands speak to people. What they print, a terminal shows and does not act on.

/// Writes text to standard output.
func show(_ text: VisibleText) { Swift.print(text.description) }

/// Writes one line to standard error.
func printError(_ text: VisibleText) {
    let line = Array((text.description + "\n").utf8)
    _ = unsafe write(STDERR_FILENO, line, line.count)
}

/// Writes what comes of a report to both.
func show(_ output: CommandOutput) {
    for line in output.remarks { printError("\(line)") }
    if !output.text.isEmpty { show(VisibleText(lines: output.text)) }
}

/// Does so, and leaves with the status that it has.
func end(with output: CommandOutput) throws {
    show(output)
    if let status = ExitStatus(rawValue: output.exitStatus) { throw status.exitCode }
}

/// Writes a file's bytes to standard output: as they are for a program, and visibly where a person looks.
func showDocument(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard isatty(STDOUT_FILENO) == 0 else { return Swift.print(VisibleText(lines: text), terminator: "") }
    _ = unsafe fwrite(bytes, 1, bytes.count, stdout)
}

@available(
    *, unavailable, message: "show(_:), printError(_:) or showDocument(_:): a terminal acts on what print writes"
)
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {}

/// The exit statuses that scripts may rely on.
enum ExitStatus: Int32, Error {
    /// The answer is no: nothing found, or the server cannot start.
    case no = 1
    case usage = 2
    /// EX_CONFIG of sysexits.h.
    case configuration = 78

    /// To be thrown out of a command once its message is printed.
    var exitCode: ExitCode { ExitCode(rawValue) }

    /// Prints why, and returns what is to be thrown out of the command.
    func exit(_ reason: VisibleText) -> ExitCode {
        printError(reason)
        return exitCode
    }

    /// Prints an error, and returns what is to be thrown out of the command.
    func exit(_ error: any CommandError) -> ExitCode {
        for line in error.lines { printError("\(line)") }
        return exitCode
    }
}

/// An error that ends a command where it is not caught: its lines are printed, and the command leaves with its status.
protocol CommandError: Error {
    var lines: [String] { get }
    var exitStatus: ExitStatus { get }
}

extension CommandError {
    var exitStatus: ExitStatus { .no }
}

/// Why a command cannot do what it is for, as one line for people.
struct CommandFailure: CommandError {
    let text: String
    var lines: [String] { [text] }

    init(_ text: String) { self.text = text }
}

extension SystemError: CommandError {
    var lines: [String] { [description] }
}

extension ConfigurationError: CommandError {
    var lines: [String] { diagnostics.map(\.description) }
    var exitStatus: ExitStatus { .configuration }
}

extension DiskReaderError: CommandError {
    var lines: [String] { [text] }
}

extension ControlError: CommandError {
    var lines: [String] { [text] }
    /// The server refuses the request as wrong, or it cannot be asked.
    var exitStatus: ExitStatus { status == 400 ? .usage : .no }
}
