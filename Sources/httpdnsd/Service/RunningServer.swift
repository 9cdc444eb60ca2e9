import Configuration
import DNSResolver
import DNSServer
import DNSWire
import DiskCache
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// The server while it runs: everything that happens on the loop between start and exit.
@Loop
final class RunningServer {
    private enum Phase {
        /// Nothing is answered yet, or beside the server that is replaced.
        case starting
        case serving
        case stopping
    }

    /// How long after its beginning the start is taken to be over, with the first answers given.
    private static let startIsOver: Duration = .milliseconds(250)
    /// Signs of life within the service manager's limit: two may be missed.
    private static let signsOfLife = 4

    /// Why it could not start.
    private(set) var failure: (any Error)?
    /// Bound and not served yet; handed on to the server.
    private var sockets: ServerSockets?
    private let loop: EventLoop
    private let log: LogOutput
    private var changes: ServiceChanges?
    private var administration: Administration?
    private var signals: SignalWatch?
    private var stopRequest: CheckedContinuation<Void, Never>?
    private var phase = Phase.starting
    /// The server that this one replaces, which serves until this one does; nil: none is left.
    private var predecessor: Predecessor?
    /// Nil while no process may replace this one.
    private var succession: Succession?
    private let handover: Handover
    /// How many descriptors of unfinished work the service manager keeps for the next process.
    private let room: Int
    private var watchdog: LoopTimer?

    nonisolated init(
        on sockets: ServerSockets, replacing predecessor: Predecessor?, leaving handover: Handover, room: Int,
        log: LogOutput, loop: EventLoop
    ) {
        (self.sockets, self.predecessor, self.handover) = (sockets, predecessor, handover)
        (self.room, self.log, self.loop) = (room, log, loop)
    }

    /// Serves until a signal comes, then drains; stops the loop in every case.
    ///
    /// - Parameters:
    ///   - source: what `settings` were read from.
    ///   - certificate: what encrypted listeners present.
    ///   - controlSockets: where commands come in, if anywhere.
    func run(
        _ settings: Configuration, from source: ConfigurationSource, presenting certificate: TLSFiles.Content?,
        descriptors: DescriptorBudget, memory: MemoryBudget, control controlSockets: ControlSockets?
    ) async {
        defer { loop.stop() }
        let service: DNSService
        let changes: ServiceChanges
        let administration: Administration
        do {
            signals = try SignalWatch(on: loop) { [unowned self] in take($0) }
            for (provider, file, problem) in settings.uselessAuthorities {
                log.logger.log(
                    .startAuthorities,
                    "\(provider): \(file) \(problem), so no certificate can be checked: install ca-certificates or set ca_file"
                )
            }
            if let problem = settings.localDNSProblem, problem.isOfOurOwn {
                log.logger.log(.localDNSNoServers, "localdns.servers: \(problem)")
            }
            for text in settings.cutLists { log.logger.log(.configurationWarning, text) }
            if let text = settings.unverifiableLocalDNS { log.logger.log(.startAuthorities, text) }
            guard let bound = sockets.take() else { return }
            let events = EventLog(log.logger, clock: loop)
            let policy = PolicyKeeper(settings, clock: loop, events: events)
            // Hands the sockets on: what still held them would keep the ports after the end of the server.
            service = DNSService(
                policy.inForce?.applied(to: settings) ?? settings, on: bound, presenting: certificate,
                descriptors: descriptors, budget: memory, isDiskPaused: predecessor != nil, log: log, events: events,
                loop: loop)
            let queries = QueryLog(of: service)
            changes = ServiceChanges(of: service, queries, base: settings, from: source, policy: policy)
            administration = Administration(of: service, changes, queries)
            (self.changes, self.administration) = (changes, administration)
            try await begin(service)
            if phase == .starting { phase = .serving }
        } catch {
            failure = error
            return
        }
        controlSockets?.takeFiles()
        administration.startControl(on: controlSockets)
        if predecessor == nil { settleIn(settings, controlSockets, administration) }
        changes.start()
        announce(service.server, as: settings.log.format)
        if let predecessor {
            Loop.spawn { [self] in
                service.server.resume(await predecessor.work(clock: loop))
                self.predecessor = nil
                await predecessor.waitForEnd(clock: loop)
                settleIn(settings, controlSockets, administration)
            }
        }
        if handover.manager != nil, let limit = ServiceManager.watchdog(processEnvironment()) {
            watch(service.server, every: limit / Self.signsOfLife)
        }
        service.resolver.preresolve()
        service.disk?.load()
        // The first answers still need some of the pages, and had to wait for what takes them away (2 ms, measured).
        let release = loop.schedule(after: Self.startIsOver) { releaseFilePages() }
        defer { release.cancel() }
        await withCheckedContinuation { continuation in
            if phase == .stopping { continuation.resume() } else { stopRequest = continuation }
        }
        handover.tell(.stopping)
        administration.isStopping = true
        if succession?.stop() == true { controlSockets?.leaveFiles() }
        while predecessor != nil { await loop.sleep(until: loop.now + .milliseconds(1)) }
        changes.policy.stop()
        service.certificate?.stop()
        watchdog?.cancel()
        administration.stopControl()
        controlSockets?.removeFiles()
        if let next = succession?.next {
            log.logger.log(.stop, "stopping: another process goes on with the sockets and the outstanding questions")
            await leave(service, to: next)
        } else if room > 0 {
            log.logger.log(.stop, "stopping: the next process goes on with the sockets and the outstanding questions")
            // The file for the queries is the last descriptor.
            let work = await service.server.handOver(connections: room - 1)
            service.disk?.stop()
            handover.leave(work)
        } else {
            log.logger.log(.stop, "stopping: outstanding questions are answered first")
            await service.server.stop()
            // Nothing is answered any more: the loop may wait.
            service.disk?.stop()
        }
        service.dnstap?.dnstap.stop()
        service.events.finish()
    }

    /// Begins to answer: in the place of the server that is replaced, if any is.
    private func begin(_ service: DNSService) async throws {
        if let predecessor {
            try await predecessor.waitForFile(clock: loop)
            service.disk?.resume()
        }
        // With nothing cached, the queries that wait in the sockets would be more at once than can be asked.
        if predecessor != nil || !service.server.adopted.isEmpty { await service.disk?.warm(clock: loop) }
        if let failure { throw failure }
        try service.server.start()
        guard let predecessor else { return }
        do throws(Replacement.Failure) {
            try predecessor.takeOver()
        } catch {
            // What was received meanwhile no other process has.
            await service.server.stop()
            throw error
        }
        service.server.takeOver()
    }

    /// Serves also monitors, and a process that is to replace this one, once no other server has their sockets.
    private func settleIn(
        _ settings: Configuration, _ control: ControlSockets?, _ administration: Administration
    ) {
        guard phase != .stopping else { return }
        if let endpoint = settings.control.http { administration.startMonitor(at: endpoint) }
        guard let control, let listener = control.successor else { return }
        let succession = Succession(
            of: administration.service, at: listener,
            passing: {
                administration.service.server.descriptors + [
                    (.commands, [administration.controlNumber].compactMap(\.self)),
                    (.successor, [listener.number].compactMap(\.self)),
                ]
            },
            onReplaced: { [unowned self] in
                phase = .stopping
                stopRequest.take()?.resume()
            })
        self.succession = succession
        administration.isBeingReplaced = { [unowned succession] in succession.isUnderWay }
        succession.begin()
    }

    /// Stops, and passes on what is unfinished to the process that serves already.
    private func leave(_ service: DNSService, to next: Replacement.Link) async {
        let work = await service.server.handOver(connections: PassedDescriptor.limit)
        do throws(Replacement.Failure) {
            try next.pass(work)
        } catch {
            log.logger.log(.notReplaced, "\(next.process) has taken over, without the queries that wait: \(error)")
        }
        service.disk?.stop()
    }

    /// Answers neither commands nor monitors any more. Harmless the second time.
    func stopAdministration() { administration?.stop() }

    /// The line by which people and scripts see that it serves.
    private func announce(_ server: Server, as style: LogStyle) {
        // What was logged until now comes before it where both streams are one.
        log.flush(within: .milliseconds(100))
        let addresses = server.addresses.map(\.description).joined(separator: ", ")
        if !server.adopted.isEmpty {
            let adopted = server.adopted.map(\.description).joined(separator: ", ")
            log.logger.log(.startSocketsAdopted, "went on with the sockets of the process before: \(adopted)")
        }
        let encrypted = server.encryptedAddresses.map { ", \($0.address) (\($0.transport.rawValue))" }.joined()
        let http = server.httpAddresses.map { ", \($0) (HTTPDNS)" }.joined()
        let text = "serving DNS on \(addresses) (UDP and TCP)\(encrypted)\(http)"
        switch style {
        case .text:
            show("httpdnsd: \(text)")
            fflush(nil)
        // A collector of both streams takes nothing else.
        case .json: log.write(.startServing, text, [:])
        }
        handover.tell(.ready)
    }

    /// Gives signs of life to a service manager that watches, while the loop and every UDP thread come round: what hangs is
    /// restarted then. Without such a manager an idle process is never woken.
    private func watch(_ server: Server, every interval: Duration) {
        if server.probeThreads() { handover.tell(.alive) }
        watchdog = loop.schedule(after: interval) { [unowned self] in watch(server, every: interval) }
    }

    private func take(_ signal: Signal) {
        switch signal {
        case .terminate, .interrupt:
            // The second one ends it at once.
            guard phase != .stopping else { return loop.stop() }
            if predecessor != nil, phase == .starting {
                failure = Replacement.Failure.stopped
                return loop.stop()
            }
            phase = .stopping
            stopRequest.take()?.resume()
        case .hangUp:
            Loop.spawn { [self] in
                while phase == .starting || succession?.isUnderWay == true {
                    await loop.sleep(until: loop.now + .milliseconds(1))
                }
                guard succession?.next == nil else {
                    return log.logger.log(
                        .reloadRefused, "SIGHUP came while another process took over: it is for that one")
                }
                handover.tell(.reloading)
                _ = await changes?.reload()
                if phase != .stopping { handover.tell(.ready) }
            }
        }
    }
}
