import CSystem.Linux
import DNSCache
import DNSWire
import Glibc
import Platform
import Synchronization

/// A thread that receives the queries of one UDP socket in batches and answers the hits.
///
/// It waits in a blocking `recvmmsg`: one system call returns a query as soon as it is there, and many under load; one
/// more sends the responses. Misses go to the loop.
///
/// Each thread has one socket, so an address needs one thread for each of its sockets. An idle thread costs nothing but
/// the pages of its stack.
final class UDPThread: Sendable {
    /// Datagrams received by one system call.
    fileprivate static let batchSize: Int32 = 64
    /// Length in bytes of the longest query received whole, which is advertised; a longer one is answered FORMERR.
    static let longestQuery = EDNS.defaultPayloadSize

    /// What the thread does, or is to do next.
    enum Stage: Int, AtomicRepresentable {
        /// Takes every query.
        case serving
        /// The same, and says so by going back to `serving`: the stage is read for each batch anyway.
        case probed
        /// Takes no new work: handles what the kernel has queued, calls `drained`, and then answers hits until `ending`. A miss
        /// gets no response: its client retransmits, and the next process answers.
        case draining
        /// Ends after the batch at hand, which it answers or posts, and calls `drained`: what the kernel has queued is for the
        /// process that takes over the socket.
        case leaving
        /// Ends after the datagrams queued in the kernel. The socket can still send.
        case ending
    }

    /// Batches that are still received from the kernel's queue, before the last miss and before the end; bounds how
    /// long a flood can delay the end.
    fileprivate static let lastBatches = 64

    fileprivate let socket: UDPSocket
    fileprivate let lateReplies: UDPSocket
    /// By the first of these with room it sends.
    fileprivate let outlets: [Int32]
    /// Of the responses that the thread sends.
    let counters = ResponseCounters()
    /// Of its answers, from the batch's arrival to its responses.
    let hitTimes = LatencyHistogram()
    private let stage = Atomic<Stage>(.serving)
    private let thread: Mutex<NamedThread?> = Mutex(nil)

    /// - Parameters:
    ///   - socket: a blocking socket that nothing else reads from.
    ///   - lateReplies: a socket of the same address, by which the loop sends the responses to misses.
    init(_ socket: UDPSocket, lateReplies: UDPSocket) {
        self.socket = socket
        self.lateReplies = lateReplies
        outlets = socket === lateReplies ? socket.numbers : socket.numbers + lateReplies.numbers
    }

    /// Starts to answer.
    ///
    /// - Parameters:
    ///   - producer: its number for dnstap.
    ///   - drained: called on the thread when it has posted its last miss, when it is draining, leaving or ending.
    /// - Throws: when there is no memory or the limit of threads is reached.
    func start(
        _ name: String, handler: QueryHandler, misses: Mailbox<MissedQuery>, refusals: RefusalLimit, feed: QueryFeed,
        producer: Int, drained: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        guard let batch = unsafe clinux_batch_new(Self.batchSize, Self.longestQuery, EDNS.defaultPayloadSize) else {
            throw SystemError(code: ENOMEM, operation: "allocate datagram buffers")
        }
        nonisolated(unsafe) let buffers = unsafe batch
        do {
            let started = try NamedThread(name) { [self] in
                let prepared = UnsafeMutablePointer<QueryHandler.Prepared>.allocate(capacity: Int(Self.batchSize))
                unsafe prepared.initialize(repeating: QueryHandler.Prepared(), count: Int(Self.batchSize))
                defer { unsafe prepared.deallocate() }
                var service = unsafe UDPService(
                    thread: self, batch: buffers, handler: handler, misses: misses, refusals: refusals, feed: feed,
                    producer: producer, counters: counters,
                    row: .init(.udp, isIPv6: socket.address.family == .ipv6), prepared: prepared)
                // What came before the kernel's filter was set; the socket that receives has none of it.
                if lateReplies !== socket { for sender in lateReplies.all { service.takeRest(of: sender) } }
                repeat {
                    while stage.load(ordering: .relaxed) == .serving {
                        let count = service.receive()
                        if service.handler.isOutdated { service.handler = service.handler.updated }
                        service.serve(count)
                        if misses.isRefusing, count < Self.batchSize { Self.pause() }
                    }
                } while change(.probed, to: .serving)
                let leaves = stage.load(ordering: .relaxed) == .leaving
                if !leaves { service.takeRest(of: socket) }
                drained()
                service.takesMisses = false
                while stage.load(ordering: .relaxed) == .draining {
                    if service.handler.isOutdated { service.handler = service.handler.updated }
                    if !service.serveQueued(of: socket) { Self.pause() }
                }
                if !leaves { service.takeRest(of: socket) }
                unsafe clinux_batch_free(buffers)
            }
            thread.withLock { $0 = started }
        } catch {
            unsafe clinux_batch_free(batch)
            throw error
        }
    }

    /// Lets datagrams accumulate for 1 ms. Under overload, small batches cost so much in thread switches that SERVFAIL
    /// responses take the time in which queries could be answered.
    private static func pause() { _ = poll(nil, 0, 1) }

    /// Whether the thread has come round since the last probe; begins another one.
    ///
    /// A thread that waits for a query is woken by the interrupt. It may miss that just before it waits: then it comes
    /// round with the next probe, or the next query.
    func probe() -> Bool {
        let isAlive = change(.serving, to: .probed) || stage.load(ordering: .relaxed) != .probed
        interrupt()
        return isAlive
    }

    /// Ends a wait for a query, except one that is only about to begin: what has to be sure repeats it.
    ///
    /// The socket may be another process's too, and so is not shut down. `NamedThread.allowInterrupts` must have been
    /// called.
    func interrupt() { thread.withLock { $0?.interrupt() } }

    private func change(_ expected: Stage, to stage: Stage) -> Bool {
        self.stage.compareExchange(expected: expected, desired: stage, ordering: .relaxed).exchanged
    }

    /// Has the thread go on to another stage.
    func enter(_ next: Stage) {
        stage.store(next, ordering: .relaxed)
        interrupt()
    }

    /// Waits until the thread has ended; returns at once if it never started.
    func join() { thread.withLock { $0.take() }?.join() }
}

/// The state of a UDP thread; used on that thread only.
@safe private struct UDPService {
    let thread: UDPThread
    let batch: OpaquePointer
    var handler: QueryHandler
    let misses: Mailbox<MissedQuery>
    let refusals: RefusalLimit
    let feed: QueryFeed
    let producer: Int
    let counters: ResponseCounters
    let row: ResponseCounters.Row
    /// The parsed queries of the current batch; has room for a whole batch.
    let prepared: UnsafeMutablePointer<QueryHandler.Prepared>
    let programs = LocalPrograms()
    /// Whether misses are handed to the loop.
    var takesMisses = true

    /// Waits for datagrams. Returns how many were received, or a negated error number.
    func receive() -> Int32 { unsafe clinux_batch_receive(batch, thread.socket.descriptor.number, 1) }

    /// Answers, or passes to the loop, what the kernel has queued.
    func takeRest(of socket: UDPSocket) {
        for _ in 0..<UDPThread.lastBatches where !serveQueued(of: socket) { return }
    }

    /// Does so with one batch of it. Returns whether there was any.
    func serveQueued(of socket: UDPSocket) -> Bool {
        let count = unsafe clinux_batch_receive(batch, socket.descriptor.number, 0)
        guard count > 0 else { return false }
        serve(count)
        return true
    }

    /// Answers, or passes to the loop, each of `count` datagrams.
    func serve(_ count: Int32) {
        guard count > 0, count <= UDPThread.batchSize, let slots = unsafe clinux_batch_slots(batch) else {
            return recover(from: -count)
        }
        let now = Instant.bootTime
        let answers = counters.answers(of: row)
        // All are parsed first, so that the memory of their answers is fetched concurrently: first where they are, then
        // they themselves.
        var tickets = InlineArray<64, MemoryCache.Ticket>(repeating: MemoryCache.Ticket())
        for index in 0..<Int(count) {
            guard let bytes = unsafe (slots + index).pointee.in else { continue }
            let message = unsafe Span(
                _unsafeStart: UnsafePointer(bytes), count: Int((slots + index).pointee.in_length))
            unsafe handler.prepare(message, in: &prepared[index])
            tickets[index] = unsafe prepared[index].ticket
        }
        handler.prefetch(tickets.span.extracting(first: Int(count)))
        for index in 0..<Int(count) { unsafe serve(slots + index, at: index, now) }
        unsafe clinux_batch_send(batch, thread.outlets, Int32(truncatingIfNeeded: thread.outlets.count))
        countHits(counters.answers(of: row) &- answers, since: now)
        if feed.isWanted { unsafe tell(of: slots, count, since: now) }
    }

    /// Counts the answers of a batch: once for all, so that each costs nothing.
    @inline(never)
    private func countHits(_ count: Int, since arrived: Instant) {
        guard count > 0 else { return }
        thread.hitTimes.add(from: arrived, to: .bootTime, count: count)
    }

    @inline(__always)
    private func serve(_ slot: UnsafeMutablePointer<clinux_slot>, at index: Int, _ now: Instant) {
        guard let client = unsafe IPAddress(slot), let bytes = unsafe slot.pointee.in,
            let room = unsafe slot.pointee.out
        else { return }
        let message = unsafe Span(_unsafeStart: UnsafePointer(bytes), count: Int(slot.pointee.in_length))
        var reply = unsafe OutputSpan(
            buffer: UnsafeMutableBufferPointer(start: room, count: EDNS.defaultPayloadSize), initializedCount: 0)
        var disposition = QueryHandler.Disposition.reply
        if unsafe slot.pointee.is_truncated != 0 {
            disposition = handler.reject(message, with: .formatError, over: .udp, into: &reply)
        } else {
            disposition = unsafe handler.handle(
                prepared[index], message, from: client, over: .udp, now: now, into: &reply)
        }
        if disposition == .miss { return unsafe serveMiss(slot, at: index, now) }
        guard disposition == .reply else { return }
        unsafe slot.pointee.out_length = UInt32(truncatingIfNeeded: reply.count)
        counters.add(unsafe room[3], to: row)
    }

    /// Answers from the entries cached for one client network, or passes the query to the loop.
    ///
    /// Reads everything from the slot again, so that a hit need not hold it ready.
    @inline(never)
    private func serveMiss(_ slot: UnsafeMutablePointer<clinux_slot>, at index: Int, _ now: Instant) {
        guard let client = unsafe IPAddress(slot), let bytes = unsafe slot.pointee.in,
            let room = unsafe slot.pointee.out
        else { return }
        let message = unsafe Span(_unsafeStart: UnsafePointer(bytes), count: Int(slot.pointee.in_length))
        var reply = unsafe OutputSpan(
            buffer: UnsafeMutableBufferPointer(start: room, count: EDNS.defaultPayloadSize), initializedCount: 0)
        var disposition = unsafe handler.handleMiss(
            prepared[index], message, from: client, over: .udp, now: now, into: &reply)
        if disposition == .miss, !takesMisses { return }
        if disposition == .miss, unsafe !post(message, from: UnsafePointer(slot), at: Int32(index), now) {
            guard refusals.refuse(at: now) else { return }
            disposition = handler.reject(
                message, with: .serverFailure, error: ExtendedError.overloaded, over: .udp, into: &reply)
        }
        guard disposition == .reply else { return }
        unsafe slot.pointee.out_length = UInt32(truncatingIfNeeded: reply.count)
        counters.add(unsafe room[3], to: row)
    }

    /// Reports the queries of a batch to the feed, also those that the loop is to answer; the responses are still in their slots.
    @inline(never)
    private func tell(of slots: UnsafeMutablePointer<clinux_slot>, _ count: Int32, since arrived: Instant) {
        let (now, time) = (Instant.bootTime, Dnstap.TimeOfDay())
        for index in 0..<Int(count) {
            let slot = unsafe slots[index]
            guard let client = unsafe SocketAddress(slots + index), let query = unsafe slot.in,
                let reply = unsafe slot.out
            else { continue }
            let answered = feed.add(
                unsafe Span(_unsafeStart: UnsafePointer(query), count: Int(slot.in_length)),
                response: unsafe Span(_unsafeStart: UnsafePointer(reply), count: Int(slot.out_length)),
                .init(client: client, transport: .udp, queried: time[arrived]), responded: time[now],
                took: now - arrived, by: producer)
            if let answered { feed.post(answered) }
        }
    }

    /// Passes a miss to the loop. Returns whether there was room.
    @inline(never)
    private func post(
        _ message: Span<UInt8>, from slot: UnsafePointer<clinux_slot>, at index: Int32, _ now: Instant
    ) -> Bool {
        guard let client = unsafe SocketAddress(slot) else { return true }
        var origin = clinux_origin()
        unsafe clinux_batch_origin(batch, index, &origin)
        var copy: [UInt8] = []
        copy.append(addingCapacity: message.count) { output in
            for index in message.indices { output.append(message[index]) }
        }
        let path = DatagramPath(socket: thread.lateReplies, origin: origin)
        let program = misses.isDivided ? programs.program(of: client, by: path, at: now) : nil
        return misses.post(
            MissedQuery(message: copy, client: client, path: path, arrived: now, program: program))
    }

    /// Waits after an error of the socket: until it is readable, or, when memory is short, for 1 ms.
    private func recover(from code: Int32) {
        guard code != EINTR else { return }
        var entry = pollfd(fd: code == EAGAIN ? thread.socket.descriptor.number : -1, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&entry, 1, code == EAGAIN ? -1 : 1)
    }
}
