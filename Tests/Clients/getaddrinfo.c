/* Looks one name up the way every program does, and prints its addresses, one a line, in the order given.
 *
 * usage: getaddrinfo [-4|-6] NAME
 *
 * Exit status 0, or 1 with the name of the error as the only line. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

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

int main(int count, char **arguments) {
    struct addrinfo hints, *list = NULL;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_family = AF_UNSPEC;
    if (count == 3 && strcmp(arguments[1], "-4") == 0) hints.ai_family = AF_INET;
    if (count == 3 && strcmp(arguments[1], "-6") == 0) hints.ai_family = AF_INET6;
    if (count < 2) return 2;
    int error = getaddrinfo(arguments[count - 1], "443", &hints, &list);
    if (error != 0) {
        puts(error_name(error));
        return 1;
    }
    for (struct addrinfo *entry = list; entry != NULL; entry = entry->ai_next) {
        char text[INET6_ADDRSTRLEN];
        const void *address = entry->ai_family == AF_INET6
            ? (const void *)&((struct sockaddr_in6 *)entry->ai_addr)->sin6_addr
            : (const void *)&((struct sockaddr_in *)entry->ai_addr)->sin_addr;
        puts(inet_ntop(entry->ai_family, address, text, sizeof text));
    }
    freeaddrinfo(list);
    return 0;
}
