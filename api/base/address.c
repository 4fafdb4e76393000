/* See address.h. */
#include "api/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NODE_BYTES = 64, V4_BITS = 96 };
static const unsigned char v4_prefix[12] = {[10] = 0xff, [11] = 0xff};

/* ---- addresses ---- */

static struct address from_v4(const void *four)
{
    struct address out;
    memcpy(out.bytes, v4_prefix, sizeof v4_prefix);
    memcpy(out.bytes + sizeof v4_prefix, four, 4);
    return out;
}

struct address address_of(const struct sockaddr *from)
{
    struct address out = {{0}};
    if (from != NULL && from->sa_family == AF_INET)
        out = from_v4(&((const struct sockaddr_in *)(const void *)from)->sin_addr);
    if (from != NULL && from->sa_family == AF_INET6)
        memcpy(out.bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, sizeof out.bytes);
    return out;
}

bool address_equal(const struct address *a, const struct address *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool address_is_none(const struct address *address)
{
    return address_equal(address, &(struct address){{0}});
}

/* The last byte tells the network of ::1 from no address. */
struct address address_key(const struct address *address)
{
    struct address key = *address;
    if (address_is_none(address) || memcmp(address->bytes, v4_prefix, sizeof v4_prefix) == 0)
        return key;
    memset(key.bytes + 8, 0, 8);
    key.bytes[15] = 1;
    return key;
}

/* ---- networks ---- */

static bool read_address(const char *text, struct address *out)
{
    unsigned char four[4];
    bool          is_v4 = inet_pton(AF_INET, text, four) == 1;
    if (is_v4)
        *out = from_v4(four);
    return is_v4 || inet_pton(AF_INET6, text, out->bytes) == 1;
}

/* Reads a number of at most three digits; -1: other text, or a number over limit. */
static int read_bits(const char *text, int limit)
{
    size_t digits = strspn(text, "0123456789");
    int    bits = digits >= 1 && digits <= 3 && text[digits] == '\0' ? atoi(text) : -1;
    return bits <= limit ? bits : -1;
}

/* "10.0.0.0/8", or an address alone. */
static bool read_network(char *text, struct networks *out)
{
    struct address *address = &out->items[out->len].address;
    char           *slash = strchr(text, '/');
    if (slash != NULL)
        *slash = '\0';
    bool good = read_address(text, address);
    bool is_v4 = good && strchr(text, ':') == NULL;
    int  bits = slash == NULL ? (is_v4 ? 32 : 128) : read_bits(slash + 1, is_v4 ? 32 : 128);
    out->items[out->len++].bits = (unsigned)(is_v4 ? bits + V4_BITS : bits);
    return good && bits >= 0;
}

enum status networks_read(const char *text, struct networks *out, struct error *err)
{
    char item[NODE_BYTES];
    out->len = 0;
    for (const char *at = text == NULL ? "" : text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool   fits = length < sizeof item && out->len < NETWORKS_MAX;
        if (fits) {
            memcpy(item, at, length);
            item[length] = '\0';
        }
        if (!fits || !read_network(item, out) || strcmp(at + length, ",") == 0)
            return error_set(err, STATUS_INVALID, "usage", "",
                             "--trusted-proxy takes up to %d addresses or networks like 10.0.0.0/8 with commas between "
                             "them, not %.60s",
                             NETWORKS_MAX, text);
        at += length + (at[length] == ',');
    }
    return STATUS_OK;
}

static bool is_in(const struct address *address, const struct address *network, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(address->bytes, network->bytes, whole) == 0 &&
           (rest == 0 || (address->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0);
}

bool networks_have(const struct networks *networks, const struct address *address)
{
    bool found = false;
    for (size_t i = 0; i < networks->len && !address_is_none(address); i++)
        found |= is_in(address, &networks->items[i].address, networks->items[i].bits);
    return found;
}

/* ---- the headers ---- */

static void add(struct hops *hops, const char *text, size_t length)
{
    hops->items[hops->len++ % HOPS_MAX] = (struct hop){.text = text, .length = length};
}

static size_t blanks(const char *text)
{
    return strspn(text, " \t");
}

static void add_x_forwarded_for(struct hops *hops, const char *value)
{
    for (;;) {
        value += blanks(value);
        size_t to_comma = strcspn(value, ","), length = to_comma;
        while (length > 0 && strchr(" \t", value[length - 1]) != NULL)
            length--;
        add(hops, value, length);
        if (value[to_comma] == '\0')
            return;
        value += to_comma + 1;
    }
}

static size_t token_length(const char *text)
{
    return strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* A token or a quoted string; moves *at behind it. */
static bool read_value(const char **at, struct hop *out)
{
    if (**at != '"') {
        *out = (struct hop){.text = *at, .length = token_length(*at)};
        *at += out->length;
        return out->length > 0;
    }
    const char *end = *at + 1;
    while (*end != '"' && *end != '\0')
        end += end[0] == '\\' && end[1] != '\0' ? 2 : 1;
    *out = (struct hop){.text = *at + 1, .length = (size_t)(end - *at - 1)};
    *at = end + (*end == '"');
    return *end == '"';
}

/* "for=192.0.2.43;proto=http"; moves *at behind it. */
static bool read_element(const char **at, struct hop *out)
{
    struct hop value;
    *out = (struct hop){.text = NULL, .length = 0};
    for (;; ++*at) {
        size_t length = token_length(*at);
        bool   is_for = length == 3 && strncasecmp(*at, "for", 3) == 0;
        *at += length;
        if (length > 0) {
            if (**at != '=' || (is_for && out->text != NULL))
                return false;
            ++*at;
            if (!read_value(at, &value))
                return false;
        }
        if (is_for)
            *out = value;
        if (**at != ';')
            return true;
    }
}

/* A line that is not well-formed to its end ends with a hop that cannot be read. */
static void add_forwarded(struct hops *hops, const char *value)
{
    struct hop hop;
    bool       good;
    do {
        value += blanks(value);
        good = read_element(&value, &hop);
        value += blanks(value);
        add(hops, good ? hop.text : NULL, good ? hop.length : 0);
    } while (good && *value++ == ',');
    if (good && value[-1] != '\0')
        add(hops, NULL, 0);
}

static const struct {
    const char *name;
    size_t      offset;
    void (*add)(struct hops *hops, const char *value);
} kinds[] = {
    {"Forwarded", offsetof(struct forwarded, forwarded), add_forwarded},
    {"X-Forwarded-For", offsetof(struct forwarded, x_forwarded_for), add_x_forwarded_for},
};

void forwarded_header(struct forwarded *forwarded, const char *name, size_t name_length, const char *value)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].name) == name_length && strncasecmp(kinds[i].name, name, name_length) == 0)
            kinds[i].add((struct hops *)(void *)((char *)forwarded + kinds[i].offset), value);
}

/* ---- the client ---- */

static bool is_port(const char *text)
{
    size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;
    return *text == '\0' || (digits >= 1 && digits <= 5 && text[1 + digits] == '\0' && atoi(text + 1) <= 65535);
}

/* "192.0.2.43", "192.0.2.43:47011", "[2001:db8::17]", "[2001:db8::17]:4711", "2001:db8::17". */
static bool read_node(const struct hop *hop, struct address *out)
{
    char text[NODE_BYTES], *start = text;
    if (hop->text == NULL || hop->length >= sizeof text)
        return false;
    memcpy(text, hop->text, hop->length);
    text[hop->length] = '\0';
    char *colon = strchr(text, ':');
    char *end = colon != NULL && strchr(colon + 1, ':') == NULL ? colon : text + hop->length;
    if (*text == '[') {
        start++;
        end = strchr(text, ']');
        if (end == NULL || !is_port(end + 1))
            return false;
    } else if (!is_port(end)) {
        return false;
    }
    *end = '\0';
    return (*text != '[' || strchr(start, ':') != NULL) && read_address(start, out) && !address_is_none(out);
}

static struct address walk(const struct hops *hops, const struct networks *trusted, const struct address *peer)
{
    struct address at = *peer, next;
    for (size_t i = hops->len; i > 0 && hops->len - i < HOPS_MAX && networks_have(trusted, &at); i--) {
        if (!read_node(&hops->items[(i - 1) % HOPS_MAX], &next))
            break;
        at = next;
    }
    return at;
}

struct address forwarded_client(const struct forwarded *forwarded, const struct networks *trusted,
                                const struct address *peer)
{
    struct address one = walk(&forwarded->forwarded, trusted, peer);
    struct address other = walk(&forwarded->x_forwarded_for, trusted, peer);
    if (forwarded->forwarded.len == 0 || forwarded->x_forwarded_for.len == 0)
        return forwarded->forwarded.len == 0 ? other : one;
    return address_equal(&one, &other) ? one : *peer;
}
