#pragma once

// libseccomp for Swift, which cannot call its macros.

#include <seccomp.h>
#include <stdint.h>

// What a refused call returns: an error number.
static inline uint32_t cseccomp_error(uint16_t code) { return SCMP_ACT_ERRNO(code); }
