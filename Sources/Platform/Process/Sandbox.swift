import CSystem.Linux
import Glibc

/// What the process gives up once it has started, for ever: capabilities, executing programs, writing files elsewhere,
/// and all but the system calls of a server.
///
/// Reading stays free, since a reload may name other files. What the kernel or a container does not let in force is
/// left out.
package final class Sandbox: Sendable {
    /// What a process does once it is in the sandbox.
    package struct Needs: Sendable {
        /// The paths of files that are written, with others beside them.
        package var files: [String]
        /// The paths of Unix sockets that are there already, and removed at the end.
        package var sockets: [String]
        /// The Unix sockets that are still made; none: nothing but what is connected already is reached by one.
        package var unixSockets: Set<UnixSocketKind>
        /// Whether Unix sockets with abstract names must stay within reach.
        package var abstractSockets: Bool

        package init(
            files: [String] = [], sockets: [String] = [], unixSockets: Set<UnixSocketKind> = [],
            abstractSockets: Bool = false
        ) {
            self.files = files
            self.sockets = sockets
            self.unixSockets = unixSockets
            self.abstractSockets = abstractSockets
        }
    }

    /// The folders below which files may be written, each of which exists, and none of which is the system's.
    package let folders: [String]
    private let unixSockets: Set<UnixSocketKind>
    /// The rules for files; of no use with a fault.
    private let ruleset: Descriptor
    private let rulesFault: SystemError?

    /// Makes the rules; nothing is in force yet.
    ///
    /// All below the folders of what is written may be written, or below the nearest folder that exists where theirs is
    /// still to be made. Nothing may in a folder of the system; a file that is to be there cannot be written or removed.
    package init(for needs: Needs) {
        let files = needs.files.map(Self.folder(of:)).filter { SystemFolder($0).map(\.isForAll) ?? true }
        let sockets = needs.sockets.map(Self.folder(of:)).filter { SystemFolder($0) == nil }
        folders = Set(files + sockets).sorted()
        unixSockets = needs.unixSockets
        let number = clinux_ruleset_create(needs.abstractSockets ? 0 : 1)
        ruleset = Descriptor(owning: number)
        guard number >= 0 else {
            rulesFault = SystemError(code: -number, operation: "limit files with Landlock")
            return
        }
        var fault: SystemError?
        for folder in folders {
            let result = unsafe clinux_ruleset_allow(number, folder)
            if result != 0 { fault = SystemError(code: -result, operation: "let files be written below \(folder)") }
        }
        rulesFault = fault
    }

    /// Restricts the calling thread, and those that it starts afterwards: capabilities and files.
    ///
    /// - Returns: what is not in force, and why.
    @discardableResult
    package func enterThread() -> [SystemError] {
        var faults: [SystemError] = []
        let dropped = clinux_drop_capabilities()
        if dropped != 0 { faults.append(SystemError(code: -dropped, operation: "give up capabilities")) }
        // Rules that leave out a folder would stop what is written there.
        if let rulesFault { return faults + [rulesFault] }
        let enforced = clinux_ruleset_enforce(ruleset.number)
        if enforced != 0 { faults.append(SystemError(code: -enforced, operation: "limit files with Landlock")) }
        return faults
    }

    /// Restricts the calling thread as `enterThread` does, and the system calls of the whole process.
    ///
    /// Called before other threads are started; those that run already call `enterThread`.
    /// - Returns: what is not in force, and why.
    package func enter() -> [SystemError] {
        var faults = enterThread()
        do throws(SystemError) {
            try SystemCallFilter().enforce(unixSockets: unixSockets)
        } catch {
            faults.append(error)
        }
        return faults
    }

    /// The folder of a file, or the nearest one above that exists.
    private static func folder(of file: String) -> String {
        var path = Substring(file)
        while let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            path = path[..<slash]
            if unsafe access(String(path), F_OK) == 0 { return String(path) }
        }
        return file.hasPrefix("/") ? "/" : "."
    }
}
