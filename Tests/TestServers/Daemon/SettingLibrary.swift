/// A library that sets a variable before the program begins, as agents do, for processes that are started with its environment.
package final class SettingLibrary: Sendable {
    private let library: Preloaded

    package init() throws { library = try Preloaded(Self.source) }

    /// The environment to start a process with.
    package var environment: [String: String] { library.environment }

    private static let source = """
        #include <stdlib.h>

        __attribute__((constructor)) static void set(void) { setenv("SETTING_LIBRARY", "1", 1); }
        """
}
