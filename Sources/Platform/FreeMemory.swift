import CLinux

/// Gives memory that was freed, by whatever thread, back to the system: by itself glibc keeps most of it.
///
/// For the moment after something large that is seldom done: it goes through all that is free, and blocks its thread meanwhile.
package func returnFreeMemory() { clinux_return_free_memory() }
