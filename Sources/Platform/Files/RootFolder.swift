import CLinux
import Glibc

/// A folder that stands for `/`, as of an image of a machine: no path and no link below it leads out of it (openat2(2),
/// Linux 5.6).
package struct RootFolder: Sendable {
    /// Empty for this machine's own `/`; otherwise the path of a folder, without a slash at its end.
    package let path: String

    package init(_ path: String) { self.path = path }

    /// Opens a file that is there, closed on exec.
    ///
    /// - Parameters:
    ///   - path: absolute, below the folder.
    ///   - flags: of open(2), without those that make a file.
    package func open(_ path: String, _ flags: Int32) throws(SystemError) -> Descriptor {
        let name = self.path + path
        guard !self.path.isEmpty else {
            let number = unsafe Glibc.open(path, flags | O_CLOEXEC)
            guard number >= 0 else { throw .last("open \(name)") }
            return Descriptor(owning: number)
        }
        let folder = unsafe Glibc.open(self.path, Self.place | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .last("open \(self.path)") }
        let root = Descriptor(owning: folder)
        return Descriptor(owning: unsafe try checked(clinux_open_in_root(root.number, path, flags), "open \(name)"))
    }

    /// Opens the folder of a file, for calls that take its last name, and follow no link there.
    ///
    /// - Parameter file: absolute.
    package func openFolder(of file: String) throws(SystemError) -> Descriptor {
        try open(file.lastIndex(of: "/").map { String(file[...$0]) } ?? "/", Self.place | O_DIRECTORY)
    }

    /// The path on this machine of a file that is there, without links.
    package func place(of file: String) throws(SystemError) -> String {
        let descriptor = try open(file, Self.place)
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/fd/\(descriptor.number)", &buffer, buffer.count)
        guard count > 0 else { throw .last("find \(path + file)") }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// O_PATH, which the Glibc module lacks.
    private static let place: Int32 = 0o10000000
}
