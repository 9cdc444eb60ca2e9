#pragma once

// hiredis for Swift: its reader of replies, and nothing that opens a socket.

#include <hiredis/hiredis.h>
#include <stdlib.h>

// The most elements of an array in a reply: what is published comes in three, of which none is an array. The library
// allocates an array as long as its header says, before the first element has come, and with arrays in arrays as many
// elements as the other end likes for four bytes each, of which none counts as unread.
enum { chiredis_longest_array = 8 };

// A reader, with the library's functions that make objects, of which the one for arrays is replaced.
struct chiredis_reader {
    redisReader *reader;
    redisReplyObjectFunctions *original;
    redisReplyObjectFunctions bounded;
};

// The task's `privdata` is the reader's.
static inline void *chiredis_make_array(const redisReadTask *task, int count) {
    struct chiredis_reader *owner = (struct chiredis_reader *)task->privdata;
    if (count > chiredis_longest_array || task->parent) return NULL;
    return owner->original->createArray(task, count);
}

// NULL without memory.
static inline struct chiredis_reader *chiredis_create(void) {
    struct chiredis_reader *owner = (struct chiredis_reader *)calloc(1, sizeof(*owner));
    if (!owner) return NULL;
    owner->reader = redisReaderCreate();
    if (!owner->reader) {
        free(owner);
        return NULL;
    }
    owner->original = owner->reader->fn;
    owner->bounded = *owner->original;
    owner->bounded.createArray = chiredis_make_array;
    owner->reader->fn = &owner->bounded;
    owner->reader->privdata = owner;
    return owner;
}

static inline void chiredis_free(struct chiredis_reader *owner) {
    redisReaderFree(owner->reader);
    free(owner);
}

// Adds received bytes; false without memory, or after an error.
static inline int chiredis_feed(struct chiredis_reader *owner, const void *bytes, size_t count) {
    return redisReaderFeed(owner->reader, (const char *)bytes, count) == REDIS_OK;
}

// The next complete reply, to be freed by freeReplyObject; NULL when there is none yet, or with `failed` set when the
// bytes are no reply.
static inline redisReply *chiredis_next(struct chiredis_reader *owner, int *failed) {
    void *reply = NULL;
    *failed = redisReaderGetReply(owner->reader, &reply) != REDIS_OK;
    return (redisReply *)reply;
}

// Bytes received that belong to no complete reply yet.
static inline size_t chiredis_unread(const struct chiredis_reader *owner) {
    return owner->reader->len - owner->reader->pos;
}
