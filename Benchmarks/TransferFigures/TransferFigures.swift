import DNSWire
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// Fetches over HTTPS from a service on loopback as the daemon does, without the rest of the daemon, and prints the CPU
/// time of one fetch in microseconds.
///
///     TransferFigures PORT CA-FILE COUNT [WINDOW]
///
/// The service is an HTTPDNS of Aliyun's form with a certificate for httpdns.bench.example. WINDOW fetches, by default
/// 64, are under way at any time; each asks for another name, and its reply is read.
@main
struct TransferFigures {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard (4...5).contains(arguments.count), let port = UInt16(arguments[1]), let count = Int(arguments[3]),
            let window = arguments.count == 5 ? Int(arguments[4]) : 64
        else {
            print("usage: TransferFigures PORT CA-FILE COUNT [WINDOW]")
            exit(2)
        }
        let loop = try EventLoop()
        let origin = HTTPOrigin(
            scheme: .https, address: .v4(0x7f00_0001), port: port, hosts: ["httpdns.bench.example"],
            caFile: arguments[2])
        Loop.spawn {
            do {
                try Run(origin, count: count, window: window, loop: loop).begin()
            } catch {
                print("\(error)")
                exit(1)
            }
        }
        loop.run()
    }
}

/// One measurement, without the first fetch, which makes the connection.
@Loop
private final class Run {
    private let transfers: HTTPTransfers
    private let format = AliyunFormat(account: "139450", secret: nil, crypto: OpenSSLCrypto())
    private let count: Int
    private let window: Int
    private let loop: EventLoop
    private var sent = 0
    private var answered = 0
    private var failed = 0
    private var start: Int64 = 0

    init(_ origin: HTTPOrigin, count: Int, window: Int, loop: EventLoop) {
        transfers = HTTPTransfers(origin, loop: loop)
        self.count = count
        self.window = window
        self.loop = loop
    }

    func begin() throws { try fetch() }

    private func fetch() throws {
        let name = try Name("m\(sent).bench.example")
        let question = UpstreamQuestion(name: name, types: [.a, .aaaa])
        let request = try format.request(for: question, at: 0)
        sent += 1
        // Under callgrind the first handshake alone may take a second.
        _ = transfers.begin(request, deadline: loop.now + .seconds(20)) { [self] result in
            take(result, question)
        }
    }

    private func take(_ result: Result<HTTPResponse, UpstreamFailure>, _ question: UpstreamQuestion) {
        var isAnswer = false
        if case .success(let response) = result,
            case .success(let results) = format.outcome(of: response, to: question),
            case .answer? = results[.a]
        {
            isAnswer = true
        }
        if !isAnswer { failed += 1 }
        answered += 1
        if answered == 1 {
            start = processTime()
            for _ in 0..<min(window, count) { continueOrEnd() }
        } else {
            continueOrEnd()
        }
    }

    private func continueOrEnd() {
        if answered == count + 1 {
            let hundredths = (processTime() - start) / Int64(count) / 10
            print(
                "\(count) fetches, \(failed) failed, CPU of one: \(hundredths / 100).\(hundredths % 100 / 10)\(hundredths % 10) us"
            )
            exit(failed == 0 ? 0 : 1)
        }
        guard sent <= count else { return }
        do {
            try fetch()
        } catch {
            print("\(error)")
            exit(1)
        }
    }

    /// CPU time of the process, user and system, in nanoseconds.
    private func processTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
