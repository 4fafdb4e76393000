/* A whole study in C, by libcurl and jansson: cc study.c -o study $(pkg-config --cflags --libs libcurl jansson) -lm
 * ./study http://127.0.0.1:8080, with the token in TOKEN.  What a client does: asks, evaluates, tells, until the service says
 * stop; waits when it says wait; sends a request that got lost again, which a named worker and a trial's number make safe. */
#include <curl/curl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 8 };

struct text {
    char  *bytes;
    size_t length;
};

static size_t take(char *bytes, size_t size, size_t count, void *arg)
{
    struct text *text = arg;
    char        *longer = realloc(text->bytes, text->length + size * count + 1);
    if (longer == NULL)
        return 0;
    memcpy(longer + text->length, bytes, size * count);
    text->bytes = longer;
    text->length += size * count;
    longer[text->length] = '\0';
    return size * count;
}

/* The reply, which the caller releases: what was asked for, or a problem with its "code".  Ends the program when there is
 * none after some attempts.  body is taken. */
static json_t *call(CURL *curl, const char *method, const char *url, json_t *body)
{
    char              *sent = body != NULL ? json_dumps(body, JSON_REAL_PRECISION(17)) : NULL, token[300];
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    json_t            *reply = NULL;
    snprintf(token, sizeof token, "Authorization: Bearer %s", getenv("TOKEN") != NULL ? getenv("TOKEN") : "");
    headers = curl_slist_append(headers, token);
    for (int i = 0; i < ATTEMPTS && reply == NULL; i++) {
        struct text text = {.bytes = NULL};
        long        status = 0;
        curl_easy_reset(curl);
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        if (sent != NULL)
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, sent);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, &text);
        CURLcode failure = curl_easy_perform(curl);
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        if (failure == CURLE_OK && status < 500 && status != 429)
            reply = json_loads(text.bytes != NULL ? text.bytes : "", 0, NULL);
        free(text.bytes);
        if (reply == NULL)
            sleep(i < 5 ? 1U << i : 30);
    }
    curl_slist_free_all(headers);
    json_decref(body);
    free(sent);
    if (reply == NULL) {
        fprintf(stderr, "%s %s: no answer\n", method, url);
        exit(1);
    }
    return reply;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* 0.3979 is the optimum. */
static double branin(double x, double y)
{
    const double pi = 3.14159265358979323846;
    return pow(y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6, 2) + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10;
}

int main(int argc, char **argv)
{
    char        url[512];
    const char *server = argc > 1 ? argv[1] : "http://127.0.0.1:8080";
    CURL       *curl = curl_easy_init();
    json_t *spec = json_loads("{\"metrics\": [{\"name\": \"f\", \"goal\": \"minimize\"}], \"budget\": {\"trials\": 30},"
                              " \"seed\": 7, \"space\": {\"type\": \"parameters\", \"parameters\": ["
                              "  {\"name\": \"x\", \"type\": \"double\", \"min\": -5, \"max\": 10},"
                              "  {\"name\": \"y\", \"type\": \"double\", \"min\": 0, \"max\": 15}]}}",
                              0, NULL);
    snprintf(url, sizeof url, "%s/v1/studies/by-name/branin%%20in%%20C", server); /* made, or found */
    json_t *study = call(curl, "PUT", url, spec);
    char    id[64];
    snprintf(id, sizeof id, "%s", text_of(study, "id"));
    if (id[0] == '\0') {
        fprintf(stderr, "%s: %s\n", text_of(study, "code"), text_of(study, "detail"));
        return 1;
    }
    json_decref(study);
    for (const char *next = "evaluate"; strcmp(next, "stop") != 0;) {
        snprintf(url, sizeof url, "%s/v1/studies/%s/suggest", server, id);
        json_t *reply = call(curl, "POST", url, json_pack("{s:s}", "worker", "in C"));
        json_t *trial = json_array_get(json_object_get(reply, "trials"), 0);
        if (trial == NULL && strcmp(text_of(reply, "next"), "wait") == 0) {
            sleep((unsigned)json_integer_value(json_object_get(reply, "next_seconds")));
        } else if (trial == NULL) {
            if (strcmp(text_of(reply, "next"), "stop") != 0)
                fprintf(stderr, "%s: %s\n", text_of(reply, "code"), text_of(reply, "detail"));
            next = "stop";
        } else {
            const json_t *point = json_object_get(trial, "point");
            double        value =
                branin(json_number_value(json_object_get(point, "x")), json_number_value(json_object_get(point, "y")));
            snprintf(url, sizeof url, "%s/v1/studies/%s/observe", server, id);
            json_decref(call(curl, "POST", url,
                             json_pack("{s:O, s:f}", "trial", json_object_get(trial, "number"), "value", value)));
        }
        json_decref(reply);
    }
    snprintf(url, sizeof url, "%s/v1/studies/%s/best", server, id);
    json_t *best = call(curl, "GET", url, NULL);
    printf("%.4f\n", json_number_value(json_object_get(json_object_get(best, "trial"), "value")));
    json_decref(best);
    curl_easy_cleanup(curl);
    return 0;
}
