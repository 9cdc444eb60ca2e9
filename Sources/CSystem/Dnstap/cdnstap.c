#define _GNU_SOURCE
#include "cdnstap.h"

#include "collector.h"
#include "dnstap.pb-c.h"

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

static ProtobufCBinaryData binary(const void *bytes, size_t length) {
    return (ProtobufCBinaryData){.len = length, .data = (uint8_t *)bytes};
}

/// The frame of a message; NULL when there is no memory.
static struct frame *make_frame(struct cdnstap *tap, const struct cdnstap_message *message) {
    const uint64_t second = 1000000000;
    const uint64_t address[] = {htobe64(message->address_high), htobe64(message->address_low)};
    const uint32_t ipv4 = htobe32((uint32_t)message->address_low);
    Dnstap__Message body = DNSTAP__MESSAGE__INIT;
    body.type = message->is_response ? DNSTAP__MESSAGE__TYPE__CLIENT_RESPONSE : DNSTAP__MESSAGE__TYPE__CLIENT_QUERY;
    body.has_socket_family = body.has_socket_protocol = body.has_query_address = body.has_query_port = 1;
    body.socket_family = message->is_ipv6 ? DNSTAP__SOCKET_FAMILY__INET6 : DNSTAP__SOCKET_FAMILY__INET;
    body.socket_protocol = (Dnstap__SocketProtocol)message->protocol;
    body.query_address = message->is_ipv6 ? binary(address, sizeof address) : binary(&ipv4, sizeof ipv4);
    body.query_port = message->port;
    body.has_query_time_sec = body.has_query_time_nsec = 1;
    body.query_time_sec = message->queried / second;
    body.query_time_nsec = (uint32_t)(message->queried % second);
    if (message->is_response) {
        body.has_response_time_sec = body.has_response_time_nsec = body.has_response_message = 1;
        body.response_time_sec = message->responded / second;
        body.response_time_nsec = (uint32_t)(message->responded % second);
        body.response_message = binary(message->bytes, message->length);
    } else {
        body.has_query_message = 1;
        body.query_message = binary(message->bytes, message->length);
    }
    Dnstap__Dnstap envelope = DNSTAP__DNSTAP__INIT;
    envelope.type = DNSTAP__DNSTAP__TYPE__MESSAGE;
    envelope.has_identity = envelope.has_version = 1;
    envelope.identity = binary(tap->identity, strlen(tap->identity));
    envelope.version = binary(tap->version, strlen(tap->version));
    envelope.message = &body;
    size_t length = dnstap__dnstap__get_packed_size(&envelope);
    struct frame *frame = malloc(sizeof *frame + length);
    if (!frame)
        return NULL;
    frame->length = dnstap__dnstap__pack(&envelope, frame->bytes);
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
