#define _GNU_SOURCE
#include "clinux_process.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const char *clinux_error_text(int code) { return strerrordesc_np(code); }

void clinux_thread_set_name(const char *name) { prctl(PR_SET_NAME, name); }

static void ignore(int number) { (void)number; }

void clinux_make_threads_interruptible(void) {
    // Without SA_RESTART. SIGURG, because programs that know nothing of it are not ended by it.
    struct sigaction action = {.sa_handler = ignore};
    sigemptyset(&action.sa_mask);
    sigaction(SIGURG, &action, NULL);
}

void clinux_make_undumpable(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int clinux_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0; }

const char *clinux_environment(int index) { return environ[index]; }

int clinux_affinity_count(void) {
    // Grown until the kernel's own mask fits: machines with more than 1,024 CPUs exist.
    for (int possible = 1024; possible <= 1 << 20; possible *= 2) {
        cpu_set_t *set = CPU_ALLOC(possible);
        if (!set)
            return -ENOMEM;
        int failed = sched_getaffinity(0, CPU_ALLOC_SIZE(possible), set) ? errno : 0;
        int count = failed ? -failed : CPU_COUNT_S(CPU_ALLOC_SIZE(possible), set);
        CPU_FREE(set);
        if (failed != EINVAL)
            return count;
    }
    return -EINVAL;
}

int clinux_notify(const char *path, const char *message) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, length);
    // An abstract name begins with a zero byte, and has no terminator: its length delimits it.
    bool is_abstract = path[0] == '@';
    if (is_abstract)
        address.sun_path[0] = '\0';
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (is_abstract ? 0 : 1));
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return -errno;
    ssize_t sent = sendto(descriptor, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
    int failed = sent < 0 ? errno : 0;
    close(descriptor);
    return -failed;
}

void clinux_return_free_memory(void) { malloc_trim(0); }

/// Whether the loader has relocated the file's code: the changes are in no file.
static bool has_relocated_code(const struct dl_phdr_info *file) {
    for (int index = 0; index < file->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[index];
        if (segment->p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *entry = (const void *)(file->dlpi_addr + segment->p_vaddr); entry->d_tag != DT_NULL; entry++)
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
                return true;
    }
    return false;
}

/// Unmaps the read-only segments of one loaded file, except pages shared with another segment.
static int release_file(struct dl_phdr_info *file, size_t size, void *unused) {
    (void)size, (void)unused;
    if (has_relocated_code(file))
        return 0;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < file->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &file->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W)
            continue;
        uintptr_t start = (file->dlpi_addr + segment->p_vaddr + page - 1) & -page;
        uintptr_t end = (file->dlpi_addr + segment->p_vaddr + segment->p_filesz) & -page;
        if (start < end)
            madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void clinux_release_file_pages(void) { dl_iterate_phdr(release_file, NULL); }
