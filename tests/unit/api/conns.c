/* Connections: the reaper, the limit by address, and blocked addresses. */
#include "api/http/conns.h"
#include "api/http/acceptor.h"
#include "api/http/server.h"
#include "tests/unit/api/suites.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t    clock_ms;
static _Atomic uint64_t   reaped, shed;
static struct conns_group group;
static size_t             limit; /* of connections of one address */

static int64_t now_ms(void)
{
    return atomic_load(&clock_ms);
}

static struct conns *start(size_t per_address)
{
    struct conns *conns = NULL;
    struct error  err;
    atomic_store(&clock_ms, 1000003);
    const struct conns_options options = {.now_ms = now_ms, .reaped = &reaped, .shed = &shed};
    limit = per_address;
    CU_ASSERT_EQUAL_FATAL(conns_start(&options, &conns, &err), STATUS_OK);
    return conns;
}

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage storage = {.ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
    void *to = storage.ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)(void *)&storage)->sin6_addr
                                             : (void *)&((struct sockaddr_in *)(void *)&storage)->sin_addr;
    CU_ASSERT_EQUAL(inet_pton(storage.ss_family, text, to), 1);
    return storage;
}

static struct address key_of(const char *text)
{
    struct sockaddr_storage from = address(text);
    struct address          own = address_of((struct sockaddr *)&from);
    return address_key(&own);
}

static bool may(struct conns *conns, const char *text)
{
    struct address key = key_of(text);
    bool           may = conns_count(conns, &key) < limit;
    if (may)
        conns_promise(conns, &key);
    return may;
}

/* The connections are added by other threads, when these come to it; or never. */
static void test_promises_count(void)
{
    struct conns           *conns = start(2);
    struct sockaddr_storage from = address("192.0.2.17");
    CU_ASSERT_TRUE(may(conns, "192.0.2.17"));
    CU_ASSERT_TRUE(may(conns, "192.0.2.17"));
    CU_ASSERT_FALSE(may(conns, "192.0.2.17"));
    struct conn *first = conns_add(conns, &group, -1, (struct sockaddr *)&from, 0);
    CU_ASSERT_FALSE(may(conns, "192.0.2.17")); /* one is there, one was promised */
    conns_remove(conns, first);
    CU_ASSERT_TRUE(may(conns, "192.0.2.17"));
    CU_ASSERT_FALSE(may(conns, "192.0.2.17"));
    atomic_fetch_add(&clock_ms, 60000);
    CU_ASSERT_TRUE(may(conns, "192.0.2.17")); /* neither came */
    for (int i = 0; i < 3000; i++) {
        char text[32];
        snprintf(text, sizeof text, "10.1.%d.%d", i >> 8, i & 255);
        CU_ASSERT_TRUE(may(conns, text));
    }
    conns_stop(conns);
}

static void test_limit(void)
{
    struct conns           *conns = start(2);
    struct sockaddr_storage four = address("192.0.2.17"), six = address("2001:db8:1:2:3::4");
    struct conn            *first = conns_add(conns, &group, -1, (struct sockaddr *)&four, 0);
    CU_ASSERT_TRUE(may(conns, "192.0.2.17"));
    struct conn *second = conns_add(conns, &group, -1, (struct sockaddr *)&four, 0);
    CU_ASSERT_FALSE(may(conns, "192.0.2.17"));
    CU_ASSERT_TRUE(may(conns, "192.0.2.18"));
    conns_remove(conns, first);
    CU_ASSERT_TRUE(may(conns, "192.0.2.17"));
    struct conn *third = conns_add(conns, &group, -1, (struct sockaddr *)&six, 0);
    struct conn *fourth = conns_add(conns, &group, -1, (struct sockaddr *)&six, 0);
    CU_ASSERT_FALSE(may(conns, "2001:db8:1:2:ffff::9")); /* the same /64 */
    CU_ASSERT_TRUE(may(conns, "2001:db8:1:3::4"));
    CU_ASSERT_EQUAL(conns_count(conns, &(struct address){{0}}), 0);
    conns_remove(conns, second);
    conns_remove(conns, third);
    conns_remove(conns, fourth);
    conns_stop(conns);
}

/* Reads one answer of the other end, within minutes; -1: nothing came. */
static ssize_t wait_for(int fd, char *bytes, size_t size)
{
    ssize_t length = -1;
    for (int i = 0; i < 30000 && (length = recv(fd, bytes, size, MSG_DONTWAIT)) < 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return length;
}

static void test_reaper(void)
{
    struct conns *conns = start(0);
    int           late[2], told[2], patient[2];
    char          bytes[32];
    uint64_t      before = atomic_load(&reaped);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, late), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, told), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, patient), 0);
    struct conn *one = conns_add(conns, &group, late[0], NULL, now_ms() + 500);
    struct conn *two = conns_add(conns, &group, told[0], NULL, now_ms() + 500);
    struct conn *three = conns_add(conns, &group, patient[0], NULL, 0);
    atomic_store(&two->farewell, "good-bye");
    atomic_fetch_add(&clock_ms, 501);
    CU_ASSERT_EQUAL(wait_for(late[1], bytes, sizeof bytes), 0);
    CU_ASSERT_EQUAL(wait_for(told[1], bytes, sizeof bytes), 8);
    CU_ASSERT_EQUAL(memcmp(bytes, "good-bye", 8), 0);
    CU_ASSERT(recv(patient[1], bytes, sizeof bytes, MSG_DONTWAIT) < 0);
    for (int i = 0; i < 30000 && atomic_load(&reaped) != before + 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    CU_ASSERT_EQUAL(atomic_load(&reaped), before + 2);
    conns_remove(conns, one);
    conns_remove(conns, two);
    conns_remove(conns, three);
    conns_stop(conns);
    for (int i = 0; i < 2; i++) {
        close(late[i]);
        close(told[i]);
        close(patient[i]);
    }
}

/* The longest to have waited goes first, and a reader after those, whatever it has sent; whoever else has sent what is still
 * to be read stays, and so does who has a whole request or waits for less than a moment. */
static void test_shedding(void)
{
    enum { BUSY, READER, SAID, LONG, SHORT, OTHER, COUNT };
    static const int   order[] = {LONG, SHORT, READER};
    struct conns      *conns = start(0);
    struct conns_group elsewhere = {0};
    struct conn       *all[COUNT];
    int                ends[COUNT][2];
    char               byte;
    uint64_t           before = atomic_load(&shed);
    for (int i = 0; i < COUNT; i++) {
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), 0);
        all[i] = conns_add(conns, i == OTHER ? &elsewhere : &group, ends[i][0], NULL, 0);
        atomic_fetch_add(&clock_ms, 7);
    }
    atomic_store(&all[BUSY]->order, 0);
    atomic_fetch_add(&all[READER]->order, CONN_READS + CONN_LATER);
    CU_ASSERT_EQUAL(write(ends[READER][1], "G", 1), 1);
    CU_ASSERT_EQUAL(write(ends[SAID][1], "G", 1), 1);
    CU_ASSERT_FALSE(conns_shed(conns, &elsewhere));
    atomic_fetch_add(&clock_ms, CONNS_YOUNG_MS - 7);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(conns_shed(conns, &group));
        CU_ASSERT(recv(ends[order[i]][1], &byte, 1, MSG_DONTWAIT) == 0);
        CU_ASSERT_EQUAL(atomic_load(&group.shed), i + 1);
    }
    CU_ASSERT_FALSE(conns_shed(conns, &group));
    CU_ASSERT_TRUE(conns_shed(conns, &elsewhere));
    CU_ASSERT_EQUAL(atomic_load(&shed), before + 4);
    CU_ASSERT(recv(ends[BUSY][1], &byte, 1, MSG_DONTWAIT) < 0);
    CU_ASSERT(recv(ends[SAID][1], &byte, 1, MSG_DONTWAIT) < 0);
    CU_ASSERT_EQUAL(recv(ends[SAID][0], &byte, 1, MSG_DONTWAIT), 1); /* and waits again, since it came */
    CU_ASSERT_TRUE(conns_shed(conns, &group));
    for (int i = 0; i < COUNT; i++) {
        conns_remove(conns, all[i]);
        close(ends[i][0]);
        close(ends[i][1]);
    }
    CU_ASSERT_EQUAL(atomic_load(&group.shed), 0);
    conns_stop(conns);
}

static void test_blocking(void)
{
    struct conns           *conns = start(0);
    struct sockaddr_storage from[] = {address("198.51.100.23"), address("198.51.100.24"), address("2001:db8::1"),
                                      address("2001:db8::2"), address("2001:db8:0:1::1")};
    struct address          at[5], nowhere = {{0}};
    for (size_t i = 0; i < 5; i++)
        at[i] = address_of((struct sockaddr *)&from[i]);
    for (int i = 0; i < CONNS_FAILURES_MAX; i++) {
        CU_ASSERT_FALSE(conns_is_blocked(conns, &at[0]));
        conns_count_failure(conns, &at[0]);
        conns_count_failure(conns, &at[2]);
        conns_count_failure(conns, &nowhere);
    }
    CU_ASSERT_TRUE(conns_is_blocked(conns, &at[0]));
    CU_ASSERT_FALSE(conns_is_blocked(conns, &at[1]));
    CU_ASSERT_TRUE(conns_is_blocked(conns, &at[3])); // of the same /64
    CU_ASSERT_FALSE(conns_is_blocked(conns, &at[4]));
    CU_ASSERT_FALSE(conns_is_blocked(conns, &nowhere));
    atomic_fetch_add(&clock_ms, 59999);
    CU_ASSERT_TRUE(conns_is_blocked(conns, &at[0]));
    atomic_fetch_add(&clock_ms, 1);
    CU_ASSERT_FALSE(conns_is_blocked(conns, &at[0]));
    conns_stop(conns);
}

/* An address that only connects is told from one that asks, and from one that was not there for a minute, whatever others do. */
static void test_newcomers(void)
{
    enum { OTHERS = 1000 };
    struct conns           *conns = start(0);
    struct sockaddr_storage from = address("192.0.2.17");
    const struct address    key = key_of("192.0.2.17"), none = {{0}};
    struct conn            *conn = conns_add(conns, &group, -1, (struct sockaddr *)&from, 0);
    size_t                  lost = 0;
    char                    text[32];
    for (unsigned i = 0; i < 3; i++) { // one that nobody has seen comes behind one that asks
        CU_ASSERT_EQUAL(conns_newcomer(conns, &key), i + 1);
        CU_ASSERT_EQUAL(conns_newcomer(conns, &none), 0);
        atomic_fetch_add(&clock_ms, 59999);
    }
    conns_has_asked(conns, conn);
    CU_ASSERT_EQUAL(conns_newcomer(conns, &key), 0);
    conns_has_asked(conns, conn); // the first request of a connection counts
    CU_ASSERT_EQUAL(conns_newcomer(conns, &key), 1);
    atomic_fetch_add(&clock_ms, 60000);
    CU_ASSERT_EQUAL(conns_newcomer(conns, &key), 1);
    for (unsigned i = 0; i < 2 * OTHERS; i++) {
        snprintf(text, sizeof text, "198.18.%u.%u", i % OTHERS / 250, i % 250);
        const struct address other = key_of(text);
        lost += conns_newcomer(conns, &other) < 1 + i / OTHERS;
    }
    CU_ASSERT(lost < OTHERS / 50);
    conns_remove(conns, conn);
    conns_stop(conns);
}

static struct anteroom room; /* large */

/* A guest that has sent something; the other end, which the guest's leaving closes. */
static int send_guest(unsigned rank)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL(write(ends[1], "G", 1), 1);
    anteroom_enter(&room, &(struct guest){.fd = ends[0], .rank = rank});
    return ends[1];
}

/* Whoever has sent something is let in by rank, and in a full room those of a high rank make room, the highest first. */
static void test_ranks(void)
{
    enum { HIGH = ANTEROOM_PATIENT + 3 };
    int              ends[ANTEROOM_MAX + 3];
    const unsigned   ranks[] = {HIGH, 1, ANTEROOM_PATIENT, 0, HIGH};
    _Atomic uint64_t gone = 0;
    CU_ASSERT_TRUE_FATAL(anteroom_open(&room, &gone));
    for (size_t i = 0; i < ANTEROOM_MAX; i++)
        ends[i] = send_guest(i < 5 ? ranks[i] : ANTEROOM_PATIENT - 1);
    CU_ASSERT_EQUAL(anteroom_ready(&room)->rank, 0);
    for (unsigned i = 1; i <= 3; i++) {
        CU_ASSERT_TRUE(anteroom_has_room(&room, 0));
        CU_ASSERT_EQUAL(gone, i);
        ends[ANTEROOM_MAX + i - 1] = send_guest(0);
    }
    CU_ASSERT_FALSE(anteroom_has_room(&room, 0)); // the others may wait
    CU_ASSERT_EQUAL(gone, 3);
    char byte;
    for (size_t i = 0; i < 5; i++) // what was unread when it was closed is an error
        CU_ASSERT_EQUAL(recv(ends[i], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN, ranks[i] < ANTEROOM_PATIENT);
    struct guest *first = anteroom_ready(&room);
    CU_ASSERT_EQUAL(first->rank, 0);
    int fd = first->fd;
    anteroom_leave(&room, first);
    close(fd);
    CU_ASSERT_TRUE(anteroom_has_room(&room, 0));
    anteroom_close(&room);
    for (size_t i = 0; i < ANTEROOM_MAX + 3; i++)
        close(ends[i]);
}

/* Each listener has an anteroom of its own, and connections that were cut. */
static void test_descriptors(void)
{
    struct server_options options = {.connections = 500, .local_fd = -1};
    const size_t          each = ANTEROOM_MAX + ACCEPTOR_SHED_MAX;
    size_t                one = server_descriptors(&options);
    CU_ASSERT(one >= 500 + each);
    options.local_fd = 3;
    size_t two = server_descriptors(&options);
    CU_ASSERT(two > one + each);
    options.health_port = "8081";
    CU_ASSERT_EQUAL(server_descriptors(&options) - two, two - one);
    options.connections++;
    CU_ASSERT_EQUAL(server_descriptors(&options) - two, two - one + 1);
}

CU_TestInfo suite_conns[] = {
    {"limit by address", test_limit},
    {"what was let in counts before it is there", test_promises_count},
    {"reaper", test_reaper},
    {"who has waited longest makes room", test_shedding},
    {"blocked addresses", test_blocking},
    {"who only connects", test_newcomers},
    {"whose rank is high makes room", test_ranks},
    {"descriptors of all listeners", test_descriptors},
    CU_TEST_INFO_NULL,
};
