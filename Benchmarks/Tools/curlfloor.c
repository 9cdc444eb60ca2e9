// curlfloor: the least CPU that libcurl itself needs for one small HTTPS fetch over a reused HTTP/2 connection (multi
// interface, transfers in flight all the time, easy handles reused): the floor of a cache miss. Prints one line of JSON.
//
//   curlfloor URL SECONDS WINDOW CA_FILE HOST:PORT:ADDRESS     (%d in the URL becomes the number of the fetch)
#include "clock.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes, (void)context;
    return size * count;
}

static void begin(CURLM *multi, CURL *easy, const char *url, unsigned long number) {
    char text[512];
    const char *percent = strstr(url, "%d");
    if (percent)
        snprintf(text, sizeof text, "%.*s%lu%s", (int)(percent - url), url, number, percent + 2);
    else
        snprintf(text, sizeof text, "%s", url);
    curl_easy_setopt(easy, CURLOPT_URL, text);
    curl_multi_add_handle(multi, easy);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: curlfloor URL SECONDS WINDOW CA_FILE HOST:PORT:ADDRESS\n");
        return 2;
    }
    const char *url = argv[1];
    double seconds = atof(argv[2]);
    curl_global_init(CURL_GLOBAL_ALL);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    struct curl_slist *resolve = curl_slist_append(NULL, argv[5]);
    unsigned long fetches = 0, bad = 0, number = 0;
    for (int i = atoi(argv[3]); i > 0; i--) {
        CURL *easy = curl_easy_init();
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_CAINFO, argv[4]);
        curl_easy_setopt(easy, CURLOPT_RESOLVE, resolve);
        begin(multi, easy, url, number++);
    }
    double started = now(), cpu = cpu_seconds();
    while (now() - started < seconds) {
        int running, left;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            CURL *easy = message->easy_handle;
            long status = 0;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            fetches++;
            bad += message->data.result != CURLE_OK || status != 200;
            curl_multi_remove_handle(multi, easy);
            begin(multi, easy, url, number++);
        }
        curl_multi_poll(multi, NULL, 0, 100, NULL);
    }
    printf("{\"fetches\": %lu, \"bad\": %lu, \"rate\": %.0f, \"cpu_us_per_fetch\": %.2f}\n", fetches, bad,
           (double)fetches / (now() - started), fetches ? (cpu_seconds() - cpu) * 1e6 / (double)fetches : 0);
    return bad > 0;
}
