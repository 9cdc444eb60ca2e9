#pragma once

// Limits, privileges and names of the process and its threads, and descriptors passed between processes.

#include <stddef.h>

/// The system's text for an error number, untranslated and constant; NULL for an unknown number.
const char *clinux_error_text(int code);

/// The variable at `index` of the environment, `NAME=value`; NULL after the last.
const char *clinux_environment(int index);

/// The argument at `index` of the command line, from 0, the program's name; NULL after the last.
const char *clinux_argument(int index);

/// Makes the kernel write no core dump of this process, and let only root read its memory and the related files of
/// /proc. Becoming another user may undo that.
void clinux_make_undumpable(void);

/// Whether core dumps are allowed: 1 unless `clinux_make_undumpable` is in force, else 0.
int clinux_is_dumpable(void);

/// Sets the name of the calling thread, as `top -H` shows it; cut after 15 bytes.
void clinux_thread_set_name(const char *name);

/// Makes SIGURG do nothing but interrupt the system call in which its thread waits.
void clinux_make_threads_interruptible(void);

/// The number of CPUs on which the calling thread may run, or -errno.
int clinux_affinity_count(void);

/// The most descriptors in one message, a limit of the kernel.
#define CLINUX_DESCRIPTORS_MAX 250

/// Sends one datagram to the Unix socket at `path`, or, with a leading `@`, to the abstract socket of that name, with
/// `count` descriptors, 0 to CLINUX_DESCRIPTORS_MAX. Waits only with descriptors, for at most 1 s. Returns 0 or -errno.
int clinux_notify(const char *path, const char *message, const int *descriptors, int count);

/// Sends the same over a blocking Unix socket of messages that is connected. Returns 0 or -errno.
int clinux_pass(int descriptor, const char *message, const int *descriptors, int count);

/// Receives one message of a Unix socket and the descriptors in it, closed on exec; never waits. `descriptors` has room
/// for CLINUX_DESCRIPTORS_MAX; `count` becomes their number, or -1 where the process may not have all of them open: then it
/// has none. Returns the length of the text, or -errno: -EAGAIN when there is none.
int clinux_receive_notice(int descriptor, char *text, size_t size, int *descriptors, int *count);

/// The process that has connected to a Unix socket, by its number. Returns -errno where the kernel does not say.
int clinux_peer_process(int descriptor);

/// A new file in memory with these bytes, closed on exec. Returns its descriptor, or -errno.
int clinux_memory_file(const void *bytes, size_t length);

/// Returns memory freed by any thread to the system.
void clinux_return_free_memory(void);

/// Has threads that start from now on allocate from one arena, instead of one for each, of 64 MiB of addresses.
void clinux_share_memory(void);

/// Unmaps the pages of code and constants, of the executable and its libraries, that were read from their files so far.
/// Those still needed are mapped again when they are accessed, from the kernel's page cache.
void clinux_release_file_pages(void);
