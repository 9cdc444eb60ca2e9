#define _GNU_SOURCE
#include "clinux_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
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

int clinux_open_in_root(int root, const char *path, int flags) {
    struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    // The kernel asks for another attempt when a folder was renamed meanwhile.
    for (int attempt = 0;; attempt++) {
        long descriptor = syscall(SYS_openat2, root, path, &how, sizeof how);
        if (descriptor >= 0 || errno != EAGAIN || attempt == 9)
            return descriptor < 0 ? -errno : (int)descriptor;
    }
}
