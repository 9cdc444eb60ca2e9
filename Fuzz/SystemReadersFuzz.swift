// Any bytes as data that the system or an HTTP server writes apart from DNS: a resolv.conf, a datagram of rtnetlink, a
// date. Each is read or refused within its limits.

import DNSWire
@testable import HTTPDNS
@testable import Platform
@testable import Upstreams

func fuzzSystemReaders(_ bytes: [UInt8]) {
    let file = ResolvConf(bytes)
    precondition(file.servers.count <= ResolvConf.maximumLines, "more lines than are read")
    precondition(file.searchDomains.allSatisfy { !$0.isRoot }, "the root as a search domain")

    var messages = RouteMessages(bytes)
    var number = 0
    while let (message, _) = messages.next() {
        number += 1
        precondition(number <= bytes.count / 16, "more messages than have room")
        if case .route(let route, _) = message {
            precondition(route.network.contains(route.network.address), "a network that does not contain its address")
        }
    }

    if let seconds = HTTPDate.seconds(bytes.span) {
        // From the year 0 to the year 10,000.
        precondition((-62_167_219_200...253_402_387_200).contains(seconds), "a date without a year of four digits")
    }
}
