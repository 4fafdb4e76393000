/* Addresses, networks, and whom a trusted proxy speaks for. */
#include "api/base/address.h"
#include "tests/unit/api/suites.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct address at(const char *text)
{
    struct sockaddr_in  four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return address_of((struct sockaddr *)&four);
    CU_ASSERT_EQUAL(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return address_of((struct sockaddr *)&six);
}

static bool same_key(const char *a, const char *b)
{
    struct address one = at(a), other = at(b), key = address_key(&one), other_key = address_key(&other);
    return address_equal(&key, &other_key);
}

static void test_keys(void)
{
    struct sockaddr local = {.sa_family = AF_UNIX};
    struct address  none = address_of(&local), nothing = address_of(NULL), loopback = at("::1");
    struct address  key = address_key(&loopback), none_key = address_key(&none);
    CU_ASSERT_TRUE(address_is_none(&none) && address_is_none(&nothing) && address_is_none(&none_key));
    CU_ASSERT_FALSE(address_is_none(&key));
    CU_ASSERT_TRUE(same_key("2001:db8:1:2:3::4", "2001:db8:1:2:ffff::9"));
    CU_ASSERT_FALSE(same_key("2001:db8:1:2:3::4", "2001:db8:1:3:3::4"));
    CU_ASSERT_FALSE(same_key("192.0.2.17", "192.0.2.18"));
    CU_ASSERT_TRUE(same_key("192.0.2.17", "::ffff:192.0.2.17"));
    CU_ASSERT_FALSE(same_key("::ffff:192.0.2.17", "::ffff:192.0.2.18"));
    CU_ASSERT_FALSE(same_key("::1", "127.0.0.1"));
}

static void test_networks(void)
{
    static const char *const good[] = {
        "127.0.0.1", "::1", "10.0.0.0/8", "0.0.0.0/0,::/0", "fd00::/8,192.0.2.1/32", "::ffff:10.0.0.0/104"};
    static const char *const bad[] = {
        ",",
        "10.0.0.0/8,",
        ",::1",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "::1/129",
        "10.0.0/8",
        "010.0.0.1",
        "10.0.0.0/8 ",
        " ::1",
        "localhost",
        "[::1]",
        "::1/8/8",
        "10.0.0.0/0008",
        "fe80::1%lo",
        "1.2.3.4:80",
        "::1::",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001"};
    static const struct {
        const char *networks, *address;
        bool        in;
    } rows[] = {
        {"10.0.0.0/8", "10.255.1.2", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.0.0.0/8", "::ffff:10.1.1.1", true},
        {"192.0.2.128/25", "192.0.2.127", false},
        {"192.0.2.128/25", "192.0.2.129", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"::/0", "192.0.2.2", true},
        {"0.0.0.0/0", "2001:db8::1", false},
        {"fd00::/8", "fdff::1", true},
        {"fd00::/8", "fe00::1", false},
        {"1.1.1.1,2001:db8::/35", "2001:db8:1fff::", true},
        {"1.1.1.1,2001:db8::/35", "2001:db8:2000::", false},
        {"", "127.0.0.1", false},
    };
    struct networks networks;
    struct error    err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CU_ASSERT_EQUAL(networks_read(good[i], &networks, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (networks_read(bad[i], &networks, &err) == STATUS_OK)
            printf("taken: %s\n", bad[i]);
        CU_ASSERT_EQUAL(networks_read(bad[i], &networks, &err), STATUS_INVALID);
    }
    CU_ASSERT_EQUAL(networks_read(NULL, &networks, &err), STATUS_OK);
    CU_ASSERT_EQUAL(networks.len, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct address address = at(rows[i].address);
        CU_ASSERT_EQUAL(networks_read(rows[i].networks, &networks, &err), STATUS_OK);
        CU_ASSERT_EQUAL(networks_have(&networks, &address), rows[i].in);
    }
    struct address none = {{0}};
    CU_ASSERT_EQUAL(networks_read("::/0", &networks, &err), STATUS_OK);
    CU_ASSERT_FALSE(networks_have(&networks, &none));
    char many[(NETWORKS_MAX + 1) * sizeof "::1"] = "::1"; // as many as fit, and one more
    for (size_t i = 1; i <= NETWORKS_MAX; i++) {
        CU_ASSERT_EQUAL(networks_read(many, &networks, &err), STATUS_OK);
        memcpy(many + i * sizeof "::1" - 1, ",::1", sizeof ",::1");
    }
    CU_ASSERT_EQUAL(networks_read(many, &networks, &err), STATUS_INVALID);
}

/* From 10.0.0.1; "F: " is a Forwarded line, "X: " an X-Forwarded-For line. */
static const struct {
    const char *lines[3], *client;
} chains[] = {
    {{NULL}, "10.0.0.1"},
    {{"X: 192.0.2.1"}, "192.0.2.1"},
    {{"X: 192.0.2.1:4711"}, "192.0.2.1"},
    {{"X: 2001:db8::1"}, "2001:db8::1"},
    {{"X: [2001:db8::1]:80"}, "2001:db8::1"},
    {{"X: 198.51.100.7, 192.0.2.1"}, "192.0.2.1"},
    {{"X: 198.51.100.7", "X: 192.0.2.1"}, "192.0.2.1"},
    {{"X: 198.51.100.7,\t192.0.2.1 , 10.9.9.9"}, "192.0.2.1"},
    {{"X: 10.3.3.3, 10.9.9.9"}, "10.3.3.3"},
    {{"X: 198.51.100.7, junk, 10.9.9.9"}, "10.9.9.9"},
    {{"X: junk, 192.0.2.1"}, "192.0.2.1"},
    {{"X: 192.0.2.1, "}, "10.0.0.1"},
    {{"X: "}, "10.0.0.1"},
    {{"X: 192.0.2.256"}, "10.0.0.1"},
    {{"X: 192.0.2.1:65536"}, "10.0.0.1"},
    {{"X: 192.0.2.1:"}, "10.0.0.1"},
    {{"X: 192.0.2.1 x"}, "10.0.0.1"},
    {{"X: [192.0.2.1]"}, "10.0.0.1"},
    {{"X: [2001:db8::1"}, "10.0.0.1"},
    {{"X: [2001:db8::1]x"}, "10.0.0.1"},
    {{"X: fe80::1%eth0"}, "10.0.0.1"},
    {{"X: unknown"}, "10.0.0.1"},
    {{"X: ::"}, "10.0.0.1"}, // nobody, whose failures are not counted
    {{"F: for=\"[::]\""}, "10.0.0.1"},
    {{"F: for=192.0.2.1"}, "192.0.2.1"},
    {{"F: For=\"192.0.2.1:4711\";proto=https;by=10.0.0.1;host=\"a,b\""}, "192.0.2.1"},
    {{"F: proto=https; for=192.0.2.1"}, "10.0.0.1"},
    {{"F: for=\"[2001:db8::1]\""}, "2001:db8::1"},
    {{"F: for=\"[2001:db8::1]:4711\""}, "2001:db8::1"},
    {{"F: for=198.51.100.7, for=192.0.2.1"}, "192.0.2.1"},
    {{"F: for=198.51.100.7", "F: for=192.0.2.1, for=10.9.9.9"}, "192.0.2.1"},
    {{"F: for=198.51.100.7;for=192.0.2.1"}, "10.0.0.1"},
    {{"F: for=_hidden"}, "10.0.0.1"},
    {{"F: for=192.0.2.1, proto=http"}, "10.0.0.1"},
    {{"F: for=192.0.2.1,"}, "10.0.0.1"},
    {{"F: for"}, "10.0.0.1"},
    {{"F: for="}, "10.0.0.1"},
    {{"F: for=\""}, "10.0.0.1"},
    {{"F: for=\"\\"}, "10.0.0.1"},
    {{"F: "}, "10.0.0.1"},
    {{"F: for=\"x, for=192.0.2.1"}, "10.0.0.1"},
    {{"F: for=\"x", "F: for=192.0.2.1"}, "192.0.2.1"},
    {{"F: for=\"\\\", for=\"[2001:db8::1]\""}, "10.0.0.1"},
    {{"F: for=192.0.2.1", "X: 192.0.2.1"}, "192.0.2.1"},
    {{"F: for=198.51.100.7", "X: 192.0.2.1"}, "10.0.0.1"},
    {{"F: for=\"", "X: 192.0.2.1"}, "10.0.0.1"},
    {{"X: 1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,7.7.7.7,8.8.8.8,9.9.9.9,10.0.0.9,10.0.0.8,10.0.0.7",
      "X: 10.0.0.6,10.0.0.5,10.0.0.4,10.0.0.3,10.0.0.2"},
     "9.9.9.9"},
};

static struct address client_of(const char *const *lines, const struct networks *trusted, const char *peer)
{
    struct forwarded forwarded = {0};
    struct address   from = at(peer);
    for (size_t i = 0; i < 3 && lines[i] != NULL; i++) {
        const char *name = lines[i][0] == 'F' ? "forwarded" : "x-forwarded-FOR";
        forwarded_header(&forwarded, name, strlen(name), lines[i] + 3);
        forwarded_header(&forwarded, "X-Forwarded-Host", 16, "192.0.2.99");
    }
    return forwarded_client(&forwarded, trusted, &from);
}

static void test_chains(void)
{
    struct networks trusted;
    struct error    err;
    CU_ASSERT_EQUAL(networks_read("10.0.0.0/8", &trusted, &err), STATUS_OK);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct address found = client_of(chains[i].lines, &trusted, "10.0.0.1"), expected = at(chains[i].client);
        if (!address_equal(&found, &expected))
            printf("%s: not %s\n", chains[i].lines[0], chains[i].client);
        CU_ASSERT_TRUE(address_equal(&found, &expected));
        struct address other = client_of(chains[i].lines, &trusted, "192.0.2.77"), peer = at("192.0.2.77");
        CU_ASSERT_TRUE(address_equal(&other, &peer)); // not trusted: not believed
    }
}

CU_TestInfo suite_address[] = {
    {"keys", test_keys},
    {"networks", test_networks},
    {"chains", test_chains},
    CU_TEST_INFO_NULL,
};
