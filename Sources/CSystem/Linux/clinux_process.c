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
#include <sys/time.h>
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

static int argument_count;
static char **arguments;

// glibc gives constructors what it gives main. Swift's runtime looks for the arguments below the environment, where it finds
// none once another library's constructor has set a variable, or without /proc.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    argument_count = count;
    arguments = values;
}

// A process may be started without any, its name included; behind them is the environment.
const char *clinux_argument(int index) { return index < argument_count ? arguments[index] : NULL; }

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

/// Room for the descriptors of one message.
union descriptors {
    struct cmsghdr header;
    unsigned char bytes[CMSG_SPACE(CLINUX_DESCRIPTORS_MAX * sizeof(int))];
};

/// Sends one message, to `name` or, with none, to what the socket is connected to. Returns 0 or -errno.
static int send_notice(
    int descriptor, const struct sockaddr_un *name, size_t name_length, const char *message, const int *descriptors,
    int count) {
    if (count < 0 || count > CLINUX_DESCRIPTORS_MAX)
        return -EINVAL;
    const struct timeval patience = {.tv_sec = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    union descriptors control = {0};
    struct iovec text = {.iov_base = (void *)message, .iov_len = strlen(message)};
    struct msghdr header = {
        .msg_name = (void *)name, .msg_namelen = (socklen_t)name_length, .msg_iov = &text, .msg_iovlen = 1};
    if (count > 0) {
        const size_t size = (size_t)count * sizeof(int);
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(size);
        control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)};
        memcpy(CMSG_DATA(&control.header), descriptors, size);
    }
    return sendmsg(descriptor, &header, MSG_NOSIGNAL | (count == 0 ? MSG_DONTWAIT : 0)) < 0 ? -errno : 0;
}

int clinux_notify(const char *path, const char *message, const int *descriptors, int count) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, length);
    // An abstract name begins with a zero byte, and has no terminator: its length delimits it.
    bool is_abstract = path[0] == '@';
    if (is_abstract)
        address.sun_path[0] = '\0';
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return -errno;
    length += offsetof(struct sockaddr_un, sun_path) + (is_abstract ? 0 : 1);
    int result = send_notice(descriptor, &address, length, message, descriptors, count);
    close(descriptor);
    return result;
}

int clinux_pass(int descriptor, const char *message, const int *descriptors, int count) {
    return send_notice(descriptor, NULL, 0, message, descriptors, count);
}

int clinux_receive_notice(int descriptor, char *text, size_t size, int *descriptors, int *count) {
    union descriptors control;
    struct iovec bytes = {.iov_base = text, .iov_len = size};
    struct msghdr header = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *count = 0;
    ssize_t length = recvmsg(descriptor, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // An end that was closed with something unread says so once, before what was sent from there.
    if (length < 0 && errno == ECONNRESET)
        length = recvmsg(descriptor, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -errno;
    for (struct cmsghdr *each = CMSG_FIRSTHDR(&header); each; each = CMSG_NXTHDR(&header, each)) {
        if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS)
            continue;
        // The kernel passes no more than the control buffer has room for.
        const size_t held = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < held; index++) {
            int passed;
            memcpy(&passed, CMSG_DATA(each) + index * sizeof(int), sizeof passed);
            if (*count < CLINUX_DESCRIPTORS_MAX)
                descriptors[(*count)++] = passed;
            else
                close(passed);
        }
    }
    if (header.msg_flags & MSG_CTRUNC) {
        while (*count > 0)
            close(descriptors[--*count]);
        *count = -1;
    }
    return (int)length;
}

int clinux_peer_process(int descriptor) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : -errno;
}

int clinux_memory_file(const void *bytes, size_t length) {
    int descriptor = memfd_create("httpdnsd", MFD_CLOEXEC);
    if (descriptor < 0)
        return -errno;
    for (size_t written = 0; written < length;) {
        ssize_t count = pwrite(descriptor, (const char *)bytes + written, length - written, (off_t)written);
        if (count > 0) {
            written += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            int failed = count == 0 ? EIO : errno;
            close(descriptor);
            return -failed;
        }
    }
    return descriptor;
}

void clinux_return_free_memory(void) { malloc_trim(0); }

void clinux_share_memory(void) { mallopt(M_ARENA_MAX, 1); }

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
