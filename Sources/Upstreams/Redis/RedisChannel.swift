import Scheduling

/// A way to send commands to one Redis, until it is closed or ends by itself.
@Loop
protocol RedisChannel: AnyObject {
    typealias Completion = @Loop (RedisReply?) -> Void

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - deadline: when the connection fails unless the reply has come, or, while it is being made, the command is given
    ///     up; nil: never.
    ///   - done: called once with its reply, or nil when the connection ends first; never before this returns.
    /// - Returns: false when it cannot be sent; `done` is then not called.
    func send(_ command: RedisCommand, until deadline: Instant?, _ done: @escaping Completion) -> Bool

    /// Sends a command whose replies are among what is published.
    ///
    /// - Returns: false when it cannot be sent.
    func sendWithoutReply(_ command: RedisCommand) -> Bool

    /// Ends it; commands without a reply get nil.
    func close()
}

/// What a connection tells its owner.
struct RedisChannelEvents {
    /// Called with each reply that answers no command.
    let publish: @Loop (RedisReply) -> Void
    /// Called once when it has ended by itself: with the reason, and whether that is a failure. It is none when no reply
    /// was awaited, for servers close idle connections.
    let end: @Loop (_ reason: String, _ hasFailed: Bool) -> Void
}
