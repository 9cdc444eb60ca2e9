import Testing

@testable import Upstreams

struct RedisCommandTests {
    private func encoded(_ command: RedisCommand) -> [UInt8] {
        var bytes: [UInt8] = []
        command.append(to: &bytes)
        return bytes
    }

    @Test func `a command carries its arguments byte for byte`() {
        let command = RedisCommand("SET", Array("k".utf8), [0, 13, 10, 255], [])
        let expected =
            Array("*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n".utf8) + [0, 13, 10, 255] + Array("\r\n$0\r\n\r\n".utf8)
        #expect(encoded(command) == expected)
    }

    @Test func `an argument of any length has it before it, in decimal`() {
        let argument = [UInt8](repeating: 7, count: 12_305)
        #expect(encoded(RedisCommand("PING", argument)).starts(with: Array("*2\r\n$4\r\nPING\r\n$12305\r\n".utf8)))
    }
}
