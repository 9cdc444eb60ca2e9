package import HTTPDNS

/// The addresses reported as bad, ordered by weight, the highest first.
package struct BadAddressReport: JSONRecord {
    package var addresses: [BadAddress] = []
    /// Cached answers removed by the change.
    package var removed = 0

    package init() {}

    package init(addresses: [BadAddress], removed: Int = 0) {
        self.addresses = addresses
        self.removed = removed
    }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "addresses": addresses = try reader.records()
        case "removed": removed = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("addresses", records: addresses)
        writer.member("removed", removed)
    }

    /// An address reported as bad.
    package struct BadAddress: JSONRecord {
        package var address = ""
        /// In percent; 100 is one report just made.
        package var weight = 0
        /// Seconds until the report expires, if the address is not reported again.
        package var fades = 0

        package init() {}

        package init(address: String, weight: Int, fades: Int) {
            self.address = address
            self.weight = weight
            self.fades = fades
        }

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "address": address = try reader.string()
            case "weight_percent": weight = try reader.int()
            case "fades_seconds": fades = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("address", address)
            writer.member("weight_percent", weight)
            writer.member("fades_seconds", fades)
        }
    }
}
