import DNSWire
import Platform

/// The slots of a Redis Cluster, into which all names fall.
enum RedisSlot {
    static let count = 16_384

    /// The slot of a name: CRC-16/XMODEM of it, or of what is in its first braces, if that is not empty.
    static func number(of name: [UInt8]) -> Int {
        var part = name[...]
        if let open = name.firstIndex(of: UInt8(ascii: "{")) {
            let inside = name[(open + 1)...].prefix { $0 != UInt8(ascii: "}") }
            if !inside.isEmpty, inside.endIndex < name.endIndex { part = inside }
        }
        var code: UInt16 = 0
        for byte in part {
            code ^= UInt16(byte) << 8
            for _ in 0..<8 { code = code & 0x8000 == 0 ? code << 1 : code << 1 ^ 0x1021 }
        }
        return Int(code) & (count - 1)
    }
}

/// An error by which a node of a Redis Cluster says which other node has a name: `MOVED 3999 192.0.2.1:6381`, or `ASK` while
/// the slot is on its way there.
struct RedisRedirection: Equatable {
    let slot: Int
    /// Whether only the next command goes there.
    let isForOnce: Bool
    /// Nil: that of the node which said so.
    private let ip: IPAddress?
    private let port: UInt16

    /// Nil for any other error, and for a node that is announced by a name: what a Redis says is looked up nowhere.
    init?(_ error: String) {
        let words = error.split(separator: " ")
        guard words.count == 3, words[0] == "MOVED" || words[0] == "ASK",
            let slot = OutsideNumber(digits: words[1])?.within(0...RedisSlot.count - 1),
            let colon = words[2].lastIndex(of: ":"),
            let port = OutsideNumber(digits: words[2][words[2].index(after: colon)...])?.within(0...UInt16.max)
        else { return nil }
        let host = words[2][..<colon]
        ip = IPAddress(host)
        guard ip != nil || host.isEmpty else { return nil }
        (self.slot, self.port, isForOnce) = (slot, port, words[0] == "ASK")
    }

    /// Where the node is; nil for an address to which no cluster's node would lead: what answers in place of Redis shall
    /// not choose what in our network is connected to.
    ///
    /// - Parameter place: of the node that redirects.
    func address(from place: SocketAddress) -> SocketAddress? {
        let ip = ip ?? place.ip
        guard port >= 1_024, Kind(ip) == Kind(place.ip) else { return nil }
        return SocketAddress(ip, port: port)
    }

    private enum Kind {
        case loopback, linkLocal, `private`, routed, other

        init(_ ip: IPAddress) {
            self =
                ip.isLoopback
                ? .loopback : ip.isLinkLocal ? .linkLocal : ip.isPrivate ? .private : ip.isRouted ? .routed : .other
        }
    }
}
