import CLinux

/// Returns memory freed by any thread to the system; glibc by itself retains most of it.
///
/// For use after a rare large operation: it walks all free memory, and blocks its thread meanwhile.
package func returnFreeMemory() { clinux_return_free_memory() }

/// Unmaps the pages of code and constants that were used so far. Pages still needed are mapped again as they are used.
///
/// For the end of the start-up, most of whose code is never needed again. The kernel retains the files in its page
/// cache; but it can drop unmapped pages at once when memory is short, and they do not count as memory of this process.
package func releaseFilePages() { clinux_release_file_pages() }
