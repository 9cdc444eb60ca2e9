#pragma once

// Linux calls that the Glibc module of Swift lacks. Every function that can fail returns -errno.

#include "clinux_connections.h"
#include "clinux_datagrams.h"
#include "clinux_events.h"
#include "clinux_handshakes.h"
#include "clinux_network.h"
#include "clinux_owner.h"
#include "clinux_process.h"
#include "clinux_sandbox.h"
#include "clinux_slots.h"
