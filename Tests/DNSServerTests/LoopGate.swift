import Glibc
import Scheduling

/// Blocks the loop, so that a test can observe the server while the loop is behind.
final class LoopGate: Sendable {
    private let ends: (read: Int32, write: Int32)

    init() {
        var pair: [Int32] = [0, 0]
        precondition(pipe(&pair) == 0)
        ends = (pair[0], pair[1])
    }

    deinit {
        _ = Glibc.close(ends.read)
        _ = Glibc.close(ends.write)
    }

    /// Blocks the loop's thread until `open()`; returns once it is blocked.
    func close() {
        var pair: [Int32] = [0, 0]
        precondition(pipe(&pair) == 0)
        let (wait, signal) = (pair[0], pair[1])
        Loop.spawn { [ends] in
            var byte: UInt8 = 0
            _ = write(signal, &byte, 1)
            _ = read(ends.read, &byte, 1)
        }
        var byte: UInt8 = 0
        _ = read(wait, &byte, 1)
        _ = Glibc.close(wait)
        _ = Glibc.close(signal)
    }

    func open() {
        var byte: UInt8 = 0
        _ = write(ends.write, &byte, 1)
    }
}
