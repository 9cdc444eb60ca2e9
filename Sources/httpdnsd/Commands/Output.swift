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
    if output.exitStatus != 0 { throw ExitCode(output.exitStatus) }
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

/// The exit statuses that scripts may rely on, beside 0.
extension ExitCode {
    /// The answer is no: nothing found, or the server cannot start.
    static let no = ExitCode(1)
    static let usage = ExitCode(2)
    /// EX_CONFIG of sysexits.h.
    static let configuration = ExitCode(78)
}

/// An error that ends a command where it is not caught: its lines are printed, and the command leaves with its status.
protocol CommandError: Error {
    var lines: [String] { get }
    var exitCode: ExitCode { get }
}

extension CommandError {
    var exitCode: ExitCode { .no }

    /// Prints it, and returns the status to leave with.
    func printed() -> ExitCode {
        for line in lines { printError("\(line)") }
        return exitCode
    }
}

/// Why a command cannot do what it is for, for people.
struct CommandFailure: CommandError {
    let lines: [String]
    let exitCode: ExitCode

    init(_ text: String, exitCode: ExitCode = .no) { self.init([text], exitCode: exitCode) }

    init(_ lines: [String], exitCode: ExitCode = .no) { (self.lines, self.exitCode) = (lines, exitCode) }
}

extension SystemError: CommandError {
    var lines: [String] { [description] }
}

extension ConfigurationError: CommandError {
    var lines: [String] { diagnostics.map(\.description) }
    var exitCode: ExitCode { .configuration }
}

extension DiskReaderError: CommandError {
    var lines: [String] { [text] }
}

extension ControlError: CommandError {
    var lines: [String] { [text] }
    /// The server refuses the request as wrong, or it cannot be asked.
    var exitCode: ExitCode { status == 400 ? .usage : .no }
}
