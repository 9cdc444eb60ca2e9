/* Looks one name up the way every program does, and prints its addresses, one a line, in the order given.
 *
 * usage: getaddrinfo [-4|-6] NAME
 *        getaddrinfo -r NAME...
 *
 * Exit status 0, or 1 with the name of the error as the only line. With -r it prints one row for each name, as all programs
 * of this folder: the name, the addresses or the error, and the milliseconds that it took. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef EAI_NODATA
#define EAI_NODATA -5
#endif

static const char *error_name(int error) {
    switch (error) {
    case EAI_AGAIN: return "EAI_AGAIN";
    case EAI_FAIL: return "EAI_FAIL";
    case EAI_NODATA: return "EAI_NODATA";
    case EAI_NONAME: return "EAI_NONAME";
    default: return gai_strerror(error);
    }
}

/* Prints the addresses of a name, or the name of the error, each between these two strings. */
static int look_up(const char *name, int family, const char *before, const char *after) {
    struct addrinfo hints, *list = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_family = family;
    int error = getaddrinfo(name, "443", &hints, &list);
    if (error != 0) {
        printf("%s%s%s", before, error_name(error), after);
        return 1;
    }
    for (struct addrinfo *entry = list; entry != NULL; entry = entry->ai_next) {
        char text[INET6_ADDRSTRLEN];
        const void *address = entry->ai_family == AF_INET6
            ? (const void *)&((struct sockaddr_in6 *)entry->ai_addr)->sin6_addr
            : (const void *)&((struct sockaddr_in *)entry->ai_addr)->sin_addr;
        printf("%s%s%s", before, inet_ntop(entry->ai_family, address, text, sizeof text), after);
    }
    freeaddrinfo(list);
    return 0;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int count, char **arguments) {
    if (count > 2 && strcmp(arguments[1], "-r") == 0) {
        for (int index = 2; index < count; index++) {
            long start = milliseconds();
            printf("%s", arguments[index]);
            look_up(arguments[index], AF_UNSPEC, " ", "");
            printf(" %ld\n", milliseconds() - start);
        }
        return 0;
    }
    int family = AF_UNSPEC;
    if (count == 3 && strcmp(arguments[1], "-4") == 0) family = AF_INET;
    if (count == 3 && strcmp(arguments[1], "-6") == 0) family = AF_INET6;
    if (count < 2) return 2;
    return look_up(arguments[count - 1], family, "", "\n");
}
