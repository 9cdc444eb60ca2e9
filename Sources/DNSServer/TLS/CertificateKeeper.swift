public import DNSWire
public import Platform

/// Has new connections use the certificate that its files hold: watches them, and makes new keys for session tickets
/// every day. Files that cannot be used change nothing, nor does a certificate out of its time while the one in use is valid.
@Loop
public final class CertificateKeeper: Sendable {
    /// How long a ticket's key is used, and how often the certificate's end is looked at.
    private static let period: Duration = .seconds(24 * 3_600)
    /// Certificate and key are replaced one after the other.
    private static let quiet: Duration = .milliseconds(500)
    private static let longest: Duration = .seconds(5)
    /// From so many seconds before its end on the certificate is warned of, every day.
    private static let warning: Int64 = 14 * 86_400

    private let terms: TLSTerms
    private let loop: EventLoop
    private let clock: any LoopClock
    private let events: EventLog
    /// The time in seconds since 1970.
    private let time: @Loop () -> Int64
    private let read: Reader
    /// What is in use.
    private var content: TLSFiles.Content
    /// Those that are to be in use.
    public private(set) var files: TLSFiles
    private var watch: FileWatch?
    private var debounce: Debounce?
    private var timer: LoopTimer?
    /// Counts readings, so that an older one that ends late changes nothing.
    private var reading = 0
    /// Why the files as they are now are not in use; nil: they are.
    public private(set) var problem: TLSFiles.Problem?

    /// Reads files.
    public typealias Reader = @Loop (TLSFiles) async throws(SystemError) -> Result<TLSFiles.Content, TLSFiles.Problem>

    /// Begins to use the files.
    ///
    /// - Parameters:
    ///   - loop: on which the files are watched.
    ///   - clock: by which it waits, until files change no more and for the next keys.
    ///   - time: in seconds since 1970.
    ///   - read: on a thread of its own, unless replaced in a test: the loop never waits for a disk.
    public init(
        _ content: TLSFiles.Content, for terms: TLSTerms, on loop: EventLoop, clock: any LoopClock, events: EventLog,
        time: @escaping @Loop () -> Int64,
        read: @escaping Reader = { files throws(SystemError) in
            try await NamedThread.run("certificate") { Result { () throws(TLSFiles.Problem) in try files.read() } }
        }
    ) {
        self.content = content
        files = content.files
        self.terms = terms
        self.loop = loop
        self.clock = clock
        self.events = events
        self.time = time
        self.read = read
        debounce = Debounce(quiet: Self.quiet, longest: Self.longest, clock: clock) { [weak self] in self?.readAgain() }
        use(content)
        follow()
    }

    /// When the certificate in use ends, in seconds since 1970; nil: none is in use.
    public var expires: Int64? { terms.context?.validity.upperBound }

    /// Reads these files, which may be the same as before, and uses them from then on.
    public func take(_ files: TLSFiles) {
        let isOther = files != self.files
        self.files = files
        if isOther { follow() }
        readAgain()
    }

    public func stop() {
        reading += 1
        watch.take()?.cancel()
        debounce = nil
        timer.take()?.cancel()
    }

    /// Returns whether new connections have what these files hold.
    @discardableResult
    private func use(_ content: TLSFiles.Content) -> Bool {
        defer { warnOfEnd() }
        do throws(TLSFiles.Problem) {
            let context = try TLSContext(content)
            let now = time()
            if terms.context?.validity.contains(now) == true, !context.validity.contains(now) {
                let reason = now < context.validity.lowerBound ? "is not valid yet" : "has expired"
                throw TLSFiles.Problem(file: files.certificate, reason: reason)
            }
            self.content = content
            take(context)
            problem = nil
            return true
        } catch {
            refuse(error)
            return false
        }
    }

    private func take(_ context: TLSContext) {
        terms.context = context
        rotate()
    }

    private func refuse(_ problem: TLSFiles.Problem) {
        self.problem = problem
        let rest = terms.context == nil ? "encrypted connections are closed" : "the certificate before stays in use"
        events.logger.log(.certificateRefused, "\(problem); \(rest)")
    }

    private func follow() {
        watch?.cancel()
        do throws(SystemError) {
            watch = try FileWatch(files.paths, on: loop) { [weak self] in self?.debounce?.touch() }
        } catch {
            events.logger.log(
                .certificateRefused, "\(error): a new certificate is taken at the next reload or start only")
        }
    }

    private func readAgain() {
        reading += 1
        let (number, files, read) = (reading, files, read)
        Loop.spawn { [weak self] in
            let result: Result<TLSFiles.Content, TLSFiles.Problem>
            do throws(SystemError) {
                result = try await read(files)
            } catch {
                guard let self, reading == number else { return }
                let problem = TLSFiles.Problem(file: files.certificate, reason: "\(error)")
                // Said once, however often there is no thread.
                if problem != self.problem { refuse(problem) }
                debounce?.touch()
                return
            }
            guard let self, reading == number else { return }
            switch result {
            case .success(let content):
                if use(content) { events.logger.log(.certificateTaken, "\(files.certificate) is in use") }
            case .failure(let problem): refuse(problem)
            }
        }
    }

    private func rotate() {
        timer?.cancel()
        timer = clock.schedule(after: Self.period) { [weak self] in self?.renew() }
    }

    /// Uses what was read with new keys: the files are as they were, or a change was refused.
    private func renew() {
        if let context = try? TLSContext(content) { take(context) } else { rotate() }
        warnOfEnd()
    }

    private func warnOfEnd() {
        guard let expires else { return }
        let left = expires &- time()
        guard left < Self.warning else { return }
        let text = left < 0 ? "has expired, and clients refuse it" : "expires in \(left / 86_400) days"
        events.logger.log(.certificateExpires, "\(files.certificate) \(text): renew it")
    }
}
