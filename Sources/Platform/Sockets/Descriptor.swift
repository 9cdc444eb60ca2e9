import CLinux
import Glibc

/// The owner of one file descriptor; closes it when the owner is destroyed.
package struct Descriptor: ~Copyable, Sendable {
    /// The number, for system calls; valid as long as this owner lives.
    package let number: Int32

    /// Takes ownership of `number`, which no other code may close.
    package init(owning number: Int32) { self.number = number }

    deinit { _ = close(number) }

    /// Gives up ownership without closing.
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}

/// The owner of a socket of this machine: the user that opened it, and the control group in which that was.
package struct SocketOwner: Hashable, Sendable {
    package let user: UInt32
    /// The number of the group's folder; 0 where the kernel does not say.
    package let group: UInt64
}

/// Asks the kernel whose a client's socket is (sock_diag(7)): one system call of some 5 us. For one thread.
package final class SocketOwners {
    private let descriptor: Descriptor

    /// - Throws: where the process may not have such a socket.
    package init() throws(SystemError) {
        descriptor = Descriptor(owning: try checked(clinux_diag_socket(), "ask for the owners of sockets (netlink)"))
    }

    /// The owner of the UDP socket at an address of this machine; nil where there is none any more.
    ///
    /// - Parameter server: where it sends to, of the same family.
    package func owner(of client: SocketAddress, asking server: SocketAddress) -> SocketOwner? {
        guard client.family == server.family else { return nil }
        let (from, to) = (client.addressBytes, server.addressBytes)
        var (user, group): (UInt32, UInt64) = (0, 0)
        let result = unsafe clinux_udp_owner(
            descriptor.number, client.family == .ipv4 ? AF_INET : AF_INET6, from, client.port, to, server.port, &user,
            &group)
        return result == 0 ? SocketOwner(user: user, group: group) : nil
    }
}
