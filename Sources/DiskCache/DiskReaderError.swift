/// The reason why a file cannot be read, in one line.
package struct DiskReaderError: Error, Hashable, Sendable {
    package let text: String
}
