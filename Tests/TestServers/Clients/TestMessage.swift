/// A DNS message for the tests, implemented separately from the daemon's own code so that the two can disagree.
package struct TestMessage: Sendable, Equatable {
    package struct Question: Sendable, Equatable {
        /// In text form with its letter case, without a final dot; the root is `.`.
        package var name: String
        package var type: UInt16
        package var `class`: UInt16

        package init(_ name: String, _ type: UInt16 = TestRecordType.a, class: UInt16 = 1) {
            self.name = name
            self.type = type
            self.class = `class`
        }
    }

    package struct Record: Sendable, Hashable {
        package var name: String
        package var type: UInt16
        package var `class`: UInt16
        /// In seconds.
        package var ttl: UInt32
        /// The rdata; names inside are written out in full.
        package var data: [UInt8]

        package init(_ name: String, _ type: UInt16, class: UInt16 = 1, ttl: UInt32, data: [UInt8]) {
            self.name = name
            self.type = type
            self.class = `class`
            self.ttl = ttl
            self.data = data
        }

        /// The address of an A or AAAA record in text form.
        package var address: String? {
            type == TestRecordType.a || type == TestRecordType.aaaa ? TestAddress.text(data) : nil
        }

        /// The character strings of a TXT record, joined.
        package var text: String? {
            guard type == TestRecordType.txt else { return nil }
            var bytes: [UInt8] = []
            var rest = data[...]
            while let length = rest.popFirst() {
                bytes += rest.prefix(Int(length))
                rest = rest.dropFirst(Int(length))
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// The MINIMUM field of an SOA record.
        package var soaMinimum: UInt32? {
            guard type == TestRecordType.soa, data.count >= 22 else { return nil }
            return data.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    package var id: UInt16
    /// The second 16 bits of the header.
    package var flags: UInt16
    package var questions: [Question] = []
    package var answers: [Record] = []
    package var authorities: [Record] = []
    package var additionals: [Record] = []
    /// The question section as received; empty in a message made here.
    package var questionBytes: [UInt8] = []
    /// Its length as received; 0 in a message made here.
    package var byteCount = 0

    package init(id: UInt16, flags: UInt16) {
        self.id = id
        self.flags = flags
    }

    /// A query with one question.
    package static func query(
        _ name: String, _ type: UInt16 = TestRecordType.a, class: UInt16 = 1, id: UInt16 = .random(in: 0...0xffff),
        flags: UInt16 = 0x0100, edns: TestEDNS? = nil
    ) -> TestMessage {
        var message = TestMessage(id: id, flags: flags)
        message.questions = [Question(name, type, class: `class`)]
        message.edns = edns
        return message
    }

    package var isResponse: Bool { flags & 0x8000 != 0 }
    package var opcode: UInt16 { flags >> 11 & 15 }
    package var isTruncated: Bool { flags & 0x0200 != 0 }
    package var recursionDesired: Bool { flags & 0x0100 != 0 }
    package var recursionAvailable: Bool { flags & 0x0080 != 0 }
    package var isAuthenticated: Bool { flags & 0x0020 != 0 }
    package var checkingDisabled: Bool { flags & 0x0010 != 0 }
    /// The low four bits of the RCODE, or all twelve if there is an OPT record.
    package var rcode: Int { Int(flags & 15) | Int(edns?.extendedRCODE ?? 0) << 4 }

    /// The addresses in the answer section, sorted: in which order they come changes from response to response.
    package var addresses: [String] { addressesInOrder.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) } }
    /// The same in the order of the response.
    package var addressesInOrder: [String] { answers.compactMap(\.address) }

    /// The SOA record of a negative answer.
    package var soa: Record? { authorities.first { $0.type == TestRecordType.soa } }

    /// The OPT record.
    package var edns: TestEDNS? {
        get { additionals.first { $0.type == TestRecordType.opt }.map(TestEDNS.init) }
        set {
            additionals.removeAll { $0.type == TestRecordType.opt }
            if let newValue { additionals.append(newValue.record) }
        }
    }

    /// The codes of the extended errors (RFC 8914), in order.
    package var extendedErrors: [UInt16] {
        (edns?.options ?? []).filter { $0.code == 15 && $0.data.count >= 2 }
            .map { UInt16($0.data[0]) << 8 | UInt16($0.data[1]) }
    }
}

/// Numbers of record types.
package enum TestRecordType {
    package static let a: UInt16 = 1
    package static let ns: UInt16 = 2
    package static let cname: UInt16 = 5
    package static let soa: UInt16 = 6
    package static let ptr: UInt16 = 12
    package static let hinfo: UInt16 = 13
    package static let mx: UInt16 = 15
    package static let txt: UInt16 = 16
    package static let aaaa: UInt16 = 28
    package static let opt: UInt16 = 41
    package static let ds: UInt16 = 43
    package static let rrsig: UInt16 = 46
    package static let dnskey: UInt16 = 48
    package static let https: UInt16 = 65
    package static let ixfr: UInt16 = 251
    package static let axfr: UInt16 = 252
    package static let any: UInt16 = 255
}

/// Numbers of response codes.
package enum TestResponseCode {
    package static let noError = 0
    package static let servFail = 2
    package static let nxDomain = 3
    package static let refused = 5
}
