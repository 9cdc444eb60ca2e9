import CLinux

/// Gives memory that was freed, by whatever thread, back to the system: by itself glibc keeps most of it.
///
/// For the moment after something large that is seldom done: it goes through all that is free, and blocks its thread meanwhile.
package func returnFreeMemory() { clinux_return_free_memory() }

/// Unmaps the code and constants that were used so far. What is still needed is mapped again, some pages at a time, as it is used.
///
/// For the end of the start, most of whose code is never needed again. The kernel keeps the files in its cache as before; but
/// what nobody maps it can drop at once when memory is short, and it is not counted as ours.
package func releaseFilePages() { clinux_release_file_pages() }
