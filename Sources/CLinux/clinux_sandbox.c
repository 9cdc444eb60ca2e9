#define _GNU_SOURCE
#include "clinux_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// MARK: Capabilities

int clinux_drop_capabilities(void) {
    // The bounding set only with a capability of its own: without it no_new_privs does as much.
    for (int capability = 0; capability < 64; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(SYS_capset, &header, none))
        return -errno;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

// MARK: The file system

/// Of kernels younger than the headers of Debian 12.
#define ACCESS_TRUNCATE (1ULL << 14)
#define SCOPE_ABSTRACT (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)

/// As in younger headers; members at their end that the kernel does not know must be 0.
struct ruleset {
    uint64_t access;
    uint64_t network;
    uint64_t scoped;
};

/// The rights on a folder that is written.
static const uint64_t writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK;

/// The version of Landlock in the kernel, from 1, or -errno.
static int landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? -errno : (int)version;
}

int clinux_ruleset_create(int hides_abstract) {
    int version = landlock_version();
    if (version < 0)
        return version;
    struct ruleset rules = {
        .access = writing | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                  LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM,
    };
    if (version >= 3)
        rules.access |= ACCESS_TRUNCATE;
    if (version >= 6)
        rules.scoped = SCOPE_SIGNAL | (hides_abstract ? SCOPE_ABSTRACT : 0);
    long descriptor = syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    return descriptor < 0 ? -errno : (int)descriptor;
}

int clinux_ruleset_allow(int ruleset, const char *folder) {
    struct landlock_path_beneath_attr rule = {.allowed_access = writing};
    if (landlock_version() >= 3)
        rule.allowed_access |= ACCESS_TRUNCATE;
    rule.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (rule.parent_fd < 0)
        return -errno;
    int failed = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? errno : 0;
    close(rule.parent_fd);
    return -failed;
}

int clinux_ruleset_enforce(int ruleset) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    return syscall(SYS_landlock_restrict_self, ruleset, 0) ? -errno : 0;
}

// MARK: System calls

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

/// Calls that execute programs, act on other processes, mount, load code into the kernel or change the machine.
///
/// A list of what is refused, since one of what is allowed would break with the next C library: glibc takes up a new
/// call as soon as the kernel has it.
static const unsigned short refused[] = {
    SYS_execve, SYS_execveat,
    // Other processes, their memory and their descriptors.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_open, SYS_pidfd_getfd,
    SYS_pidfd_send_signal, SYS_process_madvise, SYS_migrate_pages, SYS_move_pages,
    // Namespaces and mounts.
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_name_to_handle_at, SYS_open_by_handle_at,
    SYS_fanotify_init, SYS_quotactl, SYS_mknodat,
    // Code in the kernel, and its wide interfaces.
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_bpf, SYS_perf_event_open,
    SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_add_key, SYS_request_key,
    SYS_keyctl,
    // The machine.
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_syslog, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
    SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_vhangup, SYS_personality,
#ifdef __x86_64__
    SYS_mknod, SYS_kexec_file_load, SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_ustat, SYS_sysfs,
#endif
};

/// Every flag of clone(2) that makes a namespace.
static const unsigned int new_namespaces = 0x7e020000;

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define UNLESS_EQUAL(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE(code) RETURN(SECCOMP_RET_ERRNO | (code))

static const struct sock_filter head[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    REFUSE(EPERM),
    LOAD(nr),
#ifdef __x86_64__
    // The x32 calls, under other numbers.
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    REFUSE(EPERM),
#endif
    // Its flags are in memory; glibc then takes clone.
    UNLESS_EQUAL(SYS_clone3, 1),
    REFUSE(ENOSYS),
};

/// What is decided by the first argument, of which the low half comes first on both processors.
static const struct sock_filter tail[] = {
    UNLESS_EQUAL(SYS_clone, 4),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, new_namespaces, 0, 1),
    REFUSE(EPERM),
    RETURN(SECCOMP_RET_ALLOW),
    UNLESS_EQUAL(SYS_socket, 6),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0),
    REFUSE(EAFNOSUPPORT),
    RETURN(SECCOMP_RET_ALLOW),
};

int clinux_filter_system_calls(void) {
    struct sock_filter program[COUNT(head) + 2 * COUNT(refused) + COUNT(tail)];
    unsigned short length = 0;
    for (size_t index = 0; index < COUNT(head); index++)
        program[length++] = head[index];
    for (size_t index = 0; index < COUNT(refused); index++) {
        program[length++] = (struct sock_filter)UNLESS_EQUAL(refused[index], 1);
        program[length++] = (struct sock_filter)REFUSE(EPERM);
    }
    for (size_t index = 0; index < COUNT(tail); index++)
        program[length++] = tail[index];
    struct sock_fprog filter = {.len = length, .filter = program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    // Without this flag older kernels switch a slow protection on, meant for programs that run foreign code.
    const unsigned int all_threads = SECCOMP_FILTER_FLAG_TSYNC;
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all_threads | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter);
    if (result < 0 && errno == EINVAL)
        result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all_threads, &filter);
    // A positive one is a thread that could not follow.
    return result < 0 ? -errno : result > 0 ? -ESRCH : 0;
}

#else

int clinux_filter_system_calls(void) { return -ENOSYS; }

#endif
