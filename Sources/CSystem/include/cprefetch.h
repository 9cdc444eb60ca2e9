#pragma once

/// Requests the processor to load the cache line at `address`, without waiting for it. Any address is allowed: an
/// invalid one costs a fetch, but never causes a fault. Swift has no equivalent.
static inline void cprefetch(const void *address) { __builtin_prefetch(address); }
