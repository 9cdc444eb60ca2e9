import Glibc

/// The owner of one file descriptor; closes it when the owner is destroyed.
package struct Descriptor: ~Copyable, Sendable {
    /// The number, for system calls; valid as long as this owner lives.
    package let number: Int32

    /// Takes ownership of `number`, which no other code may close.
    package init(owning number: Int32) { self.number = number }

    deinit { _ = close(number) }

    /// Another descriptor of the same file or socket, closed on exec.
    package func duplicate() throws(SystemError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .last("duplicate a descriptor") }
        return Descriptor(owning: copy)
    }

    /// Gives up ownership without closing.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}
