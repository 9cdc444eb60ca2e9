package import HTTPDNS

extension StatusReport {
    /// The state of the memory cache and its file.
    package struct Cache: JSONRecord {
        package var entries = 0
        /// Bytes in use, and the limit.
        package var bytes = 0
        package var limit = 0
        /// Queries answered from it at once, and those that were not.
        package var hits = 0
        package var misses = 0
        /// Of the misses, those that were answered with a stale answer.
        package var stale = 0
        /// Answers that were prefetched, that is refreshed before they expired.
        package var refreshes = 0
        /// The path of the file in which answers are stored over a restart; empty: none.
        package var file = ""
        /// The state of the file, and why it is not used.
        package var fileState = ""
        package var fileError = ""
        /// Answers that were read from the file, and that were written to it.
        package var loaded = 0
        package var written = 0

        package init() {}

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "file": file = try reader.string()
            case "file_state": fileState = try reader.string()
            case "file_error": fileError = try reader.string()
            case "loaded": loaded = try reader.int()
            case "written": written = try reader.int()
            case "entries": entries = try reader.int()
            case "bytes": bytes = try reader.int()
            case "limit": limit = try reader.int()
            case "hits": hits = try reader.int()
            case "misses": misses = try reader.int()
            case "stale": stale = try reader.int()
            case "refreshes": refreshes = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("entries", entries)
            writer.member("bytes", bytes)
            writer.member("limit", limit)
            writer.member("hits", hits)
            writer.member("misses", misses)
            writer.member("stale", stale)
            writer.member("refreshes", refreshes)
            writer.member("file", file)
            writer.member("file_state", fileState)
            writer.member("file_error", fileError)
            writer.member("loaded", loaded)
            writer.member("written", written)
        }
    }
}
