/* gnomon notify: which addresses are of the internet, secrets and signatures. */
#include "tests/unit/service/suites.h"

#include "service/client/address.h"
#include "service/client/notice.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static bool is_public(const char *text)
{
    struct sockaddr_storage storage = {.ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
    void                   *at = storage.ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)&storage)->sin6_addr
                                                               : (void *)&((struct sockaddr_in *)&storage)->sin_addr;
    CU_ASSERT_EQUAL_FATAL(inet_pton(storage.ss_family, text, at), 1);
    return address_is_public((struct sockaddr *)&storage);
}

/* The first and the last address of each block, and their neighbours. */
static void test_addresses(void)
{
    static const char *const of_internet[] = {
        "1.0.0.0",         "9.255.255.255",    "11.0.0.0",       "100.63.255.255",  "100.128.0.0",   "126.255.255.255",
        "128.0.0.0",       "169.253.255.255",  "169.255.0.0",    "172.15.255.255",  "172.32.0.0",    "192.0.1.0",
        "192.167.255.255", "192.169.0.0",      "198.17.255.255", "198.20.0.0",      "198.51.99.255", "203.0.112.255",
        "223.255.255.255", "2000::1",          "2001:200::",     "2606:4700::1111", "2003::",        "3ffe::1",
        "::ffff:8.8.8.8",  "64:ff9b::808:808",
    };
    static const char *const others[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.0.0",
        "192.168.255.255",
        "192.88.99.1",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fdff::1",
        "ff02::1",
        "fec0::1",
        "2001::1",
        "2001:1ff::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff:fff::",
        "4000::1",
        "100::1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::808:808",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::127.0.0.1",
    };
    for (size_t i = 0; i < sizeof of_internet / sizeof of_internet[0]; i++)
        if (!is_public(of_internet[i]))
            CU_FAIL(of_internet[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (is_public(others[i]))
            CU_FAIL(others[i]);
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    CU_ASSERT_FALSE(address_is_public((struct sockaddr *)&local));
}

/* The example of the specification of Standard Webhooks, and keys that are none. */
static void test_signature(void)
{
    static const char *const wrong[] = {"",
                                        "whsec_",
                                        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa w",
                                        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTw"};
    struct error             err;
    unsigned char            key[NOTICE_KEY_BYTES];
    char                     signature[NOTICE_SIGNATURE_BYTES];
    CU_ASSERT_EQUAL_FATAL(notice_read_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", key, &err), STATUS_OK);
    CU_ASSERT_EQUAL_FATAL(
        notice_sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}", signature, &err),
        STATUS_OK);
    CU_ASSERT_STRING_EQUAL(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    CU_ASSERT_EQUAL(notice_read_key("whsec_//////////////////////////////////////////8=", key, &err), STATUS_OK);
    CU_ASSERT_EQUAL(key[31], 255);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CU_ASSERT_EQUAL(notice_read_key(wrong[i], key, &err), STATUS_INVALID);
}

static void test_kinds(void)
{
    struct error         err;
    struct notice_filter filter;
    CU_ASSERT_EQUAL(notice_read_kinds(NOTICE_KINDS, &filter, &err), STATUS_OK);
    CU_ASSERT_EQUAL(filter.wanted, 31);
    CU_ASSERT_EQUAL(notice_read_kinds("failed", &filter, &err), STATUS_OK);
    CU_ASSERT_EQUAL(filter.wanted, 8);
    CU_ASSERT_EQUAL(notice_read_kinds("", &filter, &err), STATUS_INVALID);
    CU_ASSERT_EQUAL(notice_read_kinds("fail", &filter, &err), STATUS_INVALID);
    CU_ASSERT_EQUAL(notice_read_kinds("failed,,budget", &filter, &err), STATUS_INVALID);
}

CU_TestInfo suite_notice[] = {
    {"addresses of the internet", test_addresses},
    {"secrets and signatures", test_signature},
    {"kinds", test_kinds},
    CU_TEST_INFO_NULL,
};
