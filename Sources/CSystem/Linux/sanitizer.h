#pragma once

// Under the address sanitizer bytes that belong to no block may not be touched, as in malloc's memory, and the pointers in
// blocks count for what is leaked.
#if defined(__SANITIZE_ADDRESS__)
#define CLINUX_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CLINUX_IS_SANITIZED 1
#endif
#endif

#ifdef CLINUX_IS_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define __lsan_register_root_region(start, size) ((void)(start), (void)(size))
#define __lsan_unregister_root_region(start, size) ((void)(start), (void)(size))
#endif
