/* See address.h. */
#include "service/client/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct block {
    unsigned char start[16];
    int           bits;
};

static const struct block special4[] = {
    {{0}, 8},
    {{10}, 8},
    {{100, 64}, 10},
    {{127}, 8},
    {{169, 254}, 16},
    {{172, 16}, 12},
    {{192, 0, 0}, 24},
    {{192, 0, 2}, 24},
    {{192, 168}, 16},
    {{192, 88, 99}, 24},
    {{198, 18}, 15},
    {{198, 51, 100}, 24},
    {{203, 0, 113}, 24},
    {{224}, 4},
    {{240}, 4},
};
/* Global unicast of IPv6 is 2000::/3, less these reserved blocks. */
static const struct block given6 = {{0x20}, 3};
static const struct block special6[] = {
    {{0x20, 0x01}, 23}, {{0x20, 0x01, 0x0d, 0xb8}, 32}, {{0x20, 0x02}, 16}, {{0x3f, 0xff}, 20}};
/* ::ffff:a.b.c.d, and 64:ff9b::a.b.c.d of networks that have IPv6 alone. */
static const struct block with4[] = {{{[10] = 0xff, [11] = 0xff}, 96}, {{0x00, 0x64, 0xff, 0x9b}, 96}};

static bool is_in(const struct block *block, const unsigned char *address)
{
    int bytes = block->bits / 8, rest = block->bits % 8;
    return memcmp(block->start, address, (size_t)bytes) == 0 &&
           (rest == 0 || (block->start[bytes] ^ address[bytes]) >> (8 - rest) == 0);
}

static bool is_in_any(const struct block *blocks, size_t count, const unsigned char *address)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(&blocks[i], address))
            return true;
    return false;
}

#define IS_IN_ANY(blocks, address) is_in_any(blocks, sizeof(blocks) / sizeof(blocks)[0], address)

bool address_is_public(const struct sockaddr *address)
{
    struct sockaddr_in  four;
    struct sockaddr_in6 six;
    unsigned char       bytes[16];
    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        memcpy(bytes, &four.sin_addr, sizeof four.sin_addr);
        return !IS_IN_ANY(special4, bytes);
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&six, address, sizeof six);
    memcpy(bytes, &six.sin6_addr, sizeof bytes);
    if (IS_IN_ANY(with4, bytes))
        return !IS_IN_ANY(special4, bytes + 12);
    return is_in(&given6, bytes) && !IS_IN_ANY(special6, bytes);
}

bool address_may_be_public(const char *host)
{
    char             name[512];
    struct addrinfo *found = NULL;
    bool             is_six = host[0] == '[';
    snprintf(name, sizeof name, "%s", host + is_six);
    name[strcspn(name, "]")] = '\0';
    if (getaddrinfo(name, NULL, &(struct addrinfo){.ai_socktype = SOCK_STREAM}, &found) != 0)
        return true;
    bool is_any = false;
    for (const struct addrinfo *one = found; one != NULL; one = one->ai_next)
        is_any = is_any || address_is_public(one->ai_addr);
    freeaddrinfo(found);
    return is_any;
}
