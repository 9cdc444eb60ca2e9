import Glibc
import HTTPDNS
import TestSupport

/// One client's connection to a `FakeHTTPDNS`, on a thread of its own.
struct FakeHTTPConnection: Sendable {
    let socket: TestSocket
    let number: Int
    let monitor: Monitor<FakeHTTPDNS.State>
    let account: ServiceAccount

    /// Answers requests until the client or the server closes.
    func serve() {
        var reader = HTTPRequestReader()
        defer { socket.shutdown() }
        while let request = reader.next(socket, connection: number) {
            let (zone, schedule) = monitor.read { ($0.zone, $0.schedule) }
            let service = FakeHTTPService(request, account, zone)
            let call = service.call
            let (headers, fault) = monitor.withLock { state in
                state.requests.append(request)
                if let call { state.calls.append(call) }
                return (state.headers, state.takeFault(call))
            }
            var reply = service.reply(schedule, hasSecret: account.secret != nil)
            reply.headers += headers
            guard let fault else {
                guard write(reply) else { return }
                continue
            }
            guard misbehave(fault, service, reply) else { return }
        }
    }

    private func write(_ reply: HTTPReply) -> Bool {
        (try? socket.write(reply.head + reply.body)) != nil
    }

    /// Carries out the fault.
    ///
    /// - Returns: whether the connection goes on.
    private func misbehave(_ fault: HTTPFault, _ service: FakeHTTPService, _ reply: HTTPReply) -> Bool {
        var reply = reply
        switch fault {
        case .delay(let duration):
            guard socket.wait(for: hangUp, duration) == 0 else { return false }
        case .atMost(let count, let duration, let status, let retryAfter):
            let isTaken = monitor.withLock { state in
                guard state.underWay < count else { return false }
                state.underWay += 1
                return true
            }
            guard isTaken else {
                reply.status = status
                reply.body = []
                if let retryAfter { reply.headers.append("Retry-After: \(retryAfter)") }
                break
            }
            defer { monitor.withLock { $0.underWay -= 1 } }
            guard socket.wait(for: hangUp, duration) == 0 else { return false }
        case .hang:
            guard waitForRelease(service.call) else { return false }
        case .closeBeforeReply:
            return false
        case .closeMidBody:
            try? socket.write(reply.head + reply.body.prefix(reply.body.count / 2))
            return false
        case .garbage:
            try? socket.write((0..<200).map { UInt8(truncatingIfNeeded: $0 * 151 + 3) })
            return false
        case .status(let status, let body, let retryAfter):
            reply.status = status
            reply.body = Array(body.utf8)
            reply.contentType = "text/plain"
            if let retryAfter { reply.headers.append("Retry-After: \(retryAfter)") }
        case .oversizedBody(let size):
            reply.body += [UInt8](repeating: UInt8(ascii: " "), count: max(0, size - reply.body.count))
        case .body(let body):
            reply.body = body
        case .drip(let pause):
            guard (try? socket.write(reply.head)) != nil else { return false }
            for byte in reply.body {
                guard socket.wait(for: hangUp, pause) == 0, (try? socket.write([byte])) != nil else { return false }
            }
            return true
        case .endless(let start, let part):
            let parts = Array(String(repeating: part, count: 1_000).utf8)
            guard (try? socket.write(Array(start.utf8))) != nil else { return false }
            while (try? socket.write(parts)) != nil {}
            return false
        case .wrongName:
            let text = String(decoding: reply.body, as: UTF8.self)
            reply.body = Array(text.replacing(service.call?.name ?? "", with: "other.example.net").utf8)
        case .rcode(let code, let delay):
            guard socket.wait(for: hangUp, delay) == 0 else { return false }
            reply = service.failure(code)
        }
        return write(reply)
    }

    private var hangUp: Int32 { 0x2000 /* POLLRDHUP */ | POLLHUP | POLLERR }

    /// Waits until no fault makes this call hang any more, the client closes, or the server stops.
    private func waitForRelease(_ call: FakeHTTPDNS.Call?) -> Bool {
        while true {
            let released = monitor.wait(.milliseconds(20)) { state in
                state.stopped || state.faultKey(call).flatMap { state.faults[$0] } != .hang
            }
            if released { return !monitor.read { $0.stopped } }
            if socket.wait(for: hangUp, .zero) != 0 { return false }
        }
    }
}
