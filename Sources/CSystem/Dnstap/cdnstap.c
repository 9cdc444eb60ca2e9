#define _GNU_SOURCE
#include "cdnstap.h"

#include "collector.h"

#include <endian.h>
#include <fstrm.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

/// Messages that wait in the queue of a producer, a power of 2, and their bytes.
static const unsigned queue_size = 4096;
static const size_t queue_bytes = 1 << 20;
/// Seconds between two attempts to connect.
static const unsigned reopen_interval = 1;

/// What one thread writes, in cache lines of its own.
struct producer {
    alignas(64) struct fstrm_iothr_queue *queue;
    /// Bytes that wait.
    atomic_size_t waiting;
    atomic_uint_fast64_t dropped;
};

struct cdnstap {
    struct collector collector;
    struct fstrm_iothr *thread;
    char *identity;
    char *version;
    unsigned count;
    struct producer *producers;
    /// Of libfstrm's thread: queued messages that were sent, and that were not.
    atomic_uint_fast64_t sent;
    atomic_uint_fast64_t lost;
};

/// A queued message.
struct frame {
    struct cdnstap *tap;
    struct producer *producer;
    size_t length;
    uint8_t bytes[];
};

/// Called on libfstrm's thread when a frame was sent or given up.
static void free_frame(void *bytes, void *object) {
    (void)bytes;
    struct frame *frame = object;
    struct cdnstap *tap = frame->tap;
    if (tap->collector.delivered > 0) {
        tap->collector.delivered--;
        atomic_fetch_add_explicit(&tap->sent, 1, memory_order_relaxed);
    } else {
        atomic_fetch_add_explicit(&tap->lost, 1, memory_order_relaxed);
    }
    atomic_fetch_sub_explicit(&frame->producer->waiting, frame->length, memory_order_relaxed);
    free(frame);
}

static struct fstrm_writer *make_writer(struct collector *collector) {
    static const char content[] = "protobuf:dnstap.Dnstap";
    struct fstrm_rdwr *functions = collector_functions(collector);
    struct fstrm_writer_options *options = fstrm_writer_options_init();
    if (fstrm_writer_options_add_content_type(options, content, sizeof content - 1) != fstrm_res_success) {
        fstrm_writer_options_destroy(&options);
        fstrm_rdwr_destroy(&functions);
        return NULL;
    }
    struct fstrm_writer *writer = fstrm_writer_init(options, &functions);
    fstrm_writer_options_destroy(&options);
    return writer;
}

static struct fstrm_iothr *start_thread(struct collector *collector, unsigned producers) {
    struct fstrm_writer *writer = make_writer(collector);
    if (!writer)
        return NULL;
    struct fstrm_iothr_options *options = fstrm_iothr_options_init();
    fstrm_iothr_options_set_num_input_queues(options, producers);
    fstrm_iothr_options_set_input_queue_size(options, queue_size);
    // The thread is woken when half of a queue is used, else once a second.
    fstrm_iothr_options_set_queue_notify_threshold(options, queue_size / 2);
    fstrm_iothr_options_set_reopen_interval(options, reopen_interval);
    struct fstrm_iothr *thread = fstrm_iothr_init(options, &writer);
    fstrm_iothr_options_destroy(&options);
    if (!thread)
        fstrm_writer_destroy(&writer);
    return thread;
}

struct cdnstap *cdnstap_open(const char *path, const struct sockaddr *address, socklen_t address_length,
                             const char *identity, const char *version, unsigned producers) {
    struct cdnstap *tap = calloc(1, sizeof *tap);
    if (!tap)
        return NULL;
    tap->collector.socket = -1;
    tap->collector.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    tap->identity = strdup(identity);
    tap->version = strdup(version);
    tap->count = producers;
    tap->producers = aligned_alloc(alignof(struct producer), producers * sizeof(struct producer));
    if (path) {
        struct sockaddr_un *name = (struct sockaddr_un *)&tap->collector.address;
        name->sun_family = AF_UNIX;
        strncpy(name->sun_path, path, sizeof name->sun_path - 1);
        tap->collector.address_length = sizeof *name;
    } else if (address_length <= sizeof tap->collector.address) {
        memcpy(&tap->collector.address, address, address_length);
        tap->collector.address_length = address_length;
    }
    if (tap->collector.stop >= 0 && tap->identity && tap->version && tap->producers)
        tap->thread = start_thread(&tap->collector, producers);
    if (!tap->thread) {
        tap->count = 0;
        cdnstap_free(tap);
        return NULL;
    }
    for (unsigned index = 0; index < producers; index++) {
        struct producer *producer = &tap->producers[index];
        producer->queue = fstrm_iothr_get_input_queue_idx(tap->thread, index);
        atomic_init(&producer->waiting, 0);
        atomic_init(&producer->dropped, 0);
    }
    return tap;
}

// Fields of dnstap's schema (https://dnstap.info, by the dnstap contributors, in the public domain by CC0 1.0), of which this
// server writes these, in the encoding of protocol buffers (https://protobuf.dev/programming-guides/encoding/).

/// Of a frame.
enum { frame_identity = 1, frame_version = 2, frame_message = 14, frame_type = 15 };
/// Of a DNS message with its circumstances.
enum {
    message_type = 1,
    socket_family = 2,
    socket_protocol = 3,
    query_address = 4,
    query_port = 6,
    query_seconds = 8,
    query_nanoseconds = 9,
    query_message = 10,
    response_seconds = 12,
    response_nanoseconds = 13,
    response_message = 14
};
/// The only type of a frame, and types of messages.
enum { type_message = 1, client_query = 5, client_response = 6 };

// Each of these returns the end of what it has written.

static uint8_t *put_varint(uint8_t *end, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *end++ = (uint8_t)(value | 0x80);
    *end++ = (uint8_t)value;
    return end;
}

static uint8_t *put_number(uint8_t *end, unsigned field, uint64_t value) {
    return put_varint(put_varint(end, field << 3), value);
}

/// What says that so many bytes follow.
static uint8_t *put_length(uint8_t *end, unsigned field, size_t length) {
    return put_varint(put_varint(end, field << 3 | 2), length);
}

static uint8_t *put_bytes(uint8_t *end, unsigned field, const void *bytes, size_t length) {
    return (uint8_t *)mempcpy(put_length(end, field, length), bytes, length);
}

/// A time of nanoseconds since 1970: its seconds, and the rest, which is a number of four bytes.
static uint8_t *put_time(uint8_t *end, unsigned seconds, unsigned nanoseconds, uint64_t time) {
    const uint64_t second = 1000000000;
    const uint32_t rest = htole32((uint32_t)(time % second));
    end = put_varint(put_number(end, seconds, time / second), nanoseconds << 3 | 5);
    return (uint8_t *)mempcpy(end, &rest, sizeof rest);
}

/// The frame of a message; NULL when there is no memory.
static struct frame *make_frame(struct cdnstap *tap, const struct cdnstap_message *message) {
    const uint64_t ipv6[] = {htobe64(message->address_high), htobe64(message->address_low)};
    const uint32_t ipv4 = htobe32((uint32_t)message->address_low);
    // All but the bytes of the message, which stand last.
    uint8_t head[128], *end = head;
    end = put_number(end, message_type, message->is_response ? client_response : client_query);
    end = put_number(end, socket_family, message->is_ipv6 ? 2 : 1);
    end = put_number(end, socket_protocol, message->protocol);
    end = message->is_ipv6 ? put_bytes(end, query_address, ipv6, sizeof ipv6)
                           : put_bytes(end, query_address, &ipv4, sizeof ipv4);
    end = put_number(end, query_port, message->port);
    end = put_time(end, query_seconds, query_nanoseconds, message->queried);
    if (message->is_response)
        end = put_time(end, response_seconds, response_nanoseconds, message->responded);
    end = put_length(end, message->is_response ? response_message : query_message, message->length);
    const size_t head_length = (size_t)(end - head);
    const size_t identity_length = strlen(tap->identity), version_length = strlen(tap->version);
    // Beside these the fields of a frame take no more than four bytes for a type and three times eleven for a length.
    struct frame *frame =
        malloc(sizeof *frame + identity_length + version_length + 64 + head_length + message->length);
    if (!frame)
        return NULL;
    end = put_bytes(frame->bytes, frame_identity, tap->identity, identity_length);
    end = put_bytes(end, frame_version, tap->version, version_length);
    end = put_number(end, frame_type, type_message);
    end = put_length(end, frame_message, head_length + message->length);
    end = mempcpy(end, head, head_length);
    end = mempcpy(end, message->bytes, message->length);
    frame->length = (size_t)(end - frame->bytes);
    return frame;
}

void cdnstap_add(struct cdnstap *tap, unsigned number, const struct cdnstap_message *message) {
    if (number >= tap->count)
        return;
    struct producer *producer = &tap->producers[number];
    struct frame *frame = NULL;
    if (cdnstap_state(tap) == 1 && atomic_load_explicit(&producer->waiting, memory_order_relaxed) < queue_bytes)
        frame = make_frame(tap, message);
    if (frame) {
        frame->tap = tap;
        frame->producer = producer;
        size_t length = frame->length;
        atomic_fetch_add_explicit(&producer->waiting, length, memory_order_relaxed);
        if (fstrm_iothr_submit(tap->thread, producer->queue, frame->bytes, length, free_frame, frame) ==
            fstrm_res_success)
            return;
        atomic_fetch_sub_explicit(&producer->waiting, length, memory_order_relaxed);
        free(frame);
    }
    atomic_fetch_add_explicit(&producer->dropped, 1, memory_order_relaxed);
}

int cdnstap_state(const struct cdnstap *tap) {
    return atomic_load_explicit(&tap->collector.state, memory_order_relaxed);
}

uint64_t cdnstap_sent(const struct cdnstap *tap) { return atomic_load_explicit(&tap->sent, memory_order_relaxed); }

uint64_t cdnstap_dropped(const struct cdnstap *tap) {
    uint64_t sum = atomic_load_explicit(&tap->lost, memory_order_relaxed);
    for (unsigned index = 0; index < tap->count; index++)
        sum += atomic_load_explicit(&tap->producers[index].dropped, memory_order_relaxed);
    return sum;
}

void cdnstap_stop(struct cdnstap *tap) {
    if (tap->collector.stop >= 0)
        eventfd_write(tap->collector.stop, 1);
    fstrm_iothr_destroy(&tap->thread);
    // Left open when libfstrm refused what the collector said.
    if (tap->collector.socket >= 0)
        close(tap->collector.socket);
    tap->collector.socket = -1;
}

void cdnstap_free(struct cdnstap *tap) {
    cdnstap_stop(tap);
    if (tap->collector.stop >= 0)
        close(tap->collector.stop);
    free(tap->producers);
    free(tap->identity);
    free(tap->version);
    free(tap);
}
