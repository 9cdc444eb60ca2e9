#define _GNU_SOURCE
#include "clinux_process.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

const char *clinux_error_text(int code) { return strerrordesc_np(code); }

void clinux_thread_set_name(const char *name) { prctl(PR_SET_NAME, name); }

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
