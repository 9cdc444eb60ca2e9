#pragma once

/// Asks the processor to bring the cache line at `address` near, and does not wait for it. Any address will do: a wrong one
/// costs a fetch, and is never a fault. Swift has no word for this.
static inline void cprefetch(const void *address) { __builtin_prefetch(address); }
