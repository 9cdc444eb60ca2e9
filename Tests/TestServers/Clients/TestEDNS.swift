/// An OPT record (RFC 6891).
package struct TestEDNS: Sendable, Equatable {
    package struct Option: Sendable, Equatable {
        package var code: UInt16
        package var data: [UInt8]

        package init(_ code: UInt16, _ data: [UInt8] = []) {
            self.code = code
            self.data = data
        }
    }

    /// The largest UDP payload that the sender accepts, in bytes.
    package var size: UInt16
    /// The upper eight bits of the RCODE.
    package var extendedRCODE: UInt8
    package var version: UInt8
    /// DO is 0x8000.
    package var flags: UInt16
    package var options: [Option]

    package init(
        size: UInt16 = 1_232, extendedRCODE: UInt8 = 0, version: UInt8 = 0, flags: UInt16 = 0, options: [Option] = []
    ) {
        self.size = size
        self.extendedRCODE = extendedRCODE
        self.version = version
        self.flags = flags
        self.options = options
    }

    package var dnssecOK: Bool { flags & 0x8000 != 0 }

    /// The data of the first option with this code.
    package func option(_ code: UInt16) -> [UInt8]? { options.first { $0.code == code }?.data }

    init(_ record: TestMessage.Record) {
        size = record.class
        extendedRCODE = UInt8(record.ttl >> 24)
        version = UInt8(record.ttl >> 16 & 0xff)
        flags = UInt16(record.ttl & 0xffff)
        options = []
        var rest = record.data[...]
        while rest.count >= 4 {
            let code = UInt16(rest[rest.startIndex]) << 8 | UInt16(rest[rest.startIndex + 1])
            let length = Int(rest[rest.startIndex + 2]) << 8 | Int(rest[rest.startIndex + 3])
            options.append(Option(code, Array(rest.dropFirst(4).prefix(length))))
            rest = rest.dropFirst(4 + length)
        }
    }

    package var record: TestMessage.Record {
        var data: [UInt8] = []
        for option in options {
            data.append16(option.code)
            data.append16(UInt16(option.data.count))
            data += option.data
        }
        let ttl = UInt32(extendedRCODE) << 24 | UInt32(version) << 16 | UInt32(flags)
        return TestMessage.Record(".", TestRecordType.opt, class: size, ttl: ttl, data: data)
    }
}

extension [UInt8] {
    /// Appends 16 bits, most significant first.
    package mutating func append16(_ value: UInt16) {
        append(UInt8(value >> 8))
        append(UInt8(value & 0xff))
    }

    mutating func append32(_ value: UInt32) {
        append16(UInt16(value >> 16))
        append16(UInt16(value & 0xffff))
    }
}
