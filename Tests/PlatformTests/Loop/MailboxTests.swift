import Platform
import Scheduling
import TestSupport
import Testing

@Suite(.onLoop) struct MailboxTests {
    private var loop: EventLoop { LoopRunner.shared.loop }

    @Test @Loop func `what another thread posts arrives in order`() async throws {
        let mailbox = Mailbox<Int>(capacity: 10_000, on: loop)
        let inbox = Inbox<Int>()
        mailbox.receive { for number in $0 { inbox.add(number) } }
        let thread = try NamedThread("poster") {
            for number in 0..<10_000 { _ = mailbox.post(number) }
        }
        #expect(await inbox.wait(for: 10_000) == Array(0..<10_000))
        thread.join()
    }

    @Test @Loop func `values posted before there is a receiver are retained`() async {
        let mailbox = Mailbox<Int>(capacity: 10, on: loop)
        _ = mailbox.post(7)
        await loop.nextTurn()
        let inbox = Inbox<Int>()
        mailbox.receive { for number in $0 { inbox.add(number) } }
        #expect(await inbox.wait(for: 1) == [7])
    }

    @Test @Loop func `what there is no room for comes in later turns, in order`() async {
        let mailbox = Mailbox<Int>(capacity: 10, on: loop)
        let inbox = Inbox<[Int]>()
        mailbox.receive(room: { 2 }) { inbox.add($0) }
        for number in 1...5 { _ = mailbox.post(number) }
        #expect(await inbox.wait(for: 3) == [[1, 2], [3, 4], [5]])
        #expect(mailbox.isEmpty)
    }

    @Test @Loop func `what was posted comes before what else the turn brings`() async {
        let mailbox = Mailbox<String>(capacity: 10, on: loop)
        let inbox = Inbox<String>()
        mailbox.receive(room: { 10 }) { for text in $0 { inbox.add(text) } }
        await loop.nextTurn()
        _ = loop.schedule(at: loop.now) { inbox.add("due") }
        _ = mailbox.post("posted")
        #expect(await inbox.wait(for: 2) == ["posted", "due"])
    }

    @Test @Loop func `without room nothing is handed over, and what is left comes when there is some`() async {
        let mailbox = Mailbox<Int>(capacity: 10, on: loop)
        let inbox = Inbox<Int>()
        let room = Room()
        mailbox.receive(room: { room.count }) { for number in $0 { inbox.add(number) } }
        _ = mailbox.post(1)
        await loop.nextTurn()
        #expect(!mailbox.isEmpty)
        room.count = 1
        #expect(await inbox.wait(for: 1) == [1])
    }

    @Test @Loop func `what is refused is counted until it is read, and until the next is taken`() async {
        let mailbox = Mailbox<Int>(capacity: 3, on: loop)
        let inbox = Inbox<Int>()
        mailbox.receive { for number in $0 { inbox.add(number) } }
        let posted = [1, 2, 3].map { mailbox.post($0) }
        #expect(posted == [true, true, true] && !mailbox.post(4))
        #expect(mailbox.takeRefused() == 1 && mailbox.isRefusing)
        #expect(await inbox.wait(for: 3) == [1, 2, 3])
        #expect(!mailbox.isRefusing)
        #expect(mailbox.post(5))
        #expect(await inbox.wait(for: 4) == [1, 2, 3, 5])
        #expect(mailbox.takeRefused() == 0)
    }
}

/// How many values a receiver takes.
@Loop
private final class Room {
    var count = 0
}
