import Glibc

/// Reads a small text file such as those below /proc; `nil` if it cannot be read, cut after 64 KiB.
package func readFile(_ path: String) -> String? {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let descriptor = Descriptor(owning: number)
    let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
        while count < buffer.count {
            let got = read(descriptor.number, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            guard got > 0 else { return }
            count += got
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
