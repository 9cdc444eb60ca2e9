/// Random numbers of the system's generator, each from one system call.
///
/// It has storage, as `SystemRandomNumberGenerator` has none: the address of something without storage is undefined, and the
/// thread sanitizer looks at it.
struct SystemNumbers: RandomNumberGenerator {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last = UInt64.random(in: .min ... .max)
        return last
    }
}
