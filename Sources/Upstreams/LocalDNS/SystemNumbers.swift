/// Random numbers of the system's generator, each from one system call.
///
/// Unlike `SystemRandomNumberGenerator` it has storage: the address of a value without storage is undefined, and the
/// thread sanitizer reads it.
struct SystemNumbers: RandomNumberGenerator {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last = UInt64.random(in: .min ... .max)
        return last
    }
}
