/* SPDX-License-Identifier: Apache-2.0 */
/* The connection between two probes: authentication, and unauthorized peers of every kind. */
#include "probes/rdma/oob.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

/* Generous: nothing waits for it but a test of silence, which has its own. */
#define SOON_US (20 * USEC_PER_SEC)
#define SILENCE_US (100 * USEC_PER_MSEC)

static const char token[] = "one-that-both-know";

/* RFC 4231, test cases 1, 2 and 6 (a key longer than a block). */
static void a_mac_is_that_of_the_standard(void)
{
	unsigned char long_key[131], mac[SHA256_SIZE], first_key[20];
	static const unsigned char wanted[3][4] = { { 0xb0, 0x34, 0x4c, 0x61 },
						    { 0x5b, 0xdc, 0xc1, 0x46 },
						    { 0x60, 0xe4, 0x31, 0x59 } };
	const struct oob_piece hi = { "Hi There", 8 };
	const struct oob_piece pieces[] = { { "what do ya want ", 16 }, { "for nothing?", 12 } };
	const struct oob_piece longer = { "Test Using Larger Than Block-Size Key - Hash Key First",
					  54 };

	memset(first_key, 0x0b, sizeof(first_key));
	memset(long_key, 0xaa, sizeof(long_key));
	oob_hmac(first_key, sizeof(first_key), &hi, 1, mac);
	CHECK(memcmp(mac, wanted[0], 4) == 0);
	oob_hmac("Jefe", 4, pieces, ARRAY_SIZE(pieces), mac);
	CHECK(memcmp(mac, wanted[1], 4) == 0);
	oob_hmac(long_key, sizeof(long_key), &longer, 1, mac);
	CHECK(memcmp(mac, wanted[2], 4) == 0);
}

/* One end, in a thread of its own. */
struct end {
	int fd;
	bool dials;
	const char *token;
	uint64_t us;
	struct oob line;
	struct err err;
	int r;
};

static void *begin(void *argument)
{
	struct end *e = argument;

	e->r = oob_begin(e->fd, e->dials ? "the listener" : "the dialer", e->dials, e->token,
			 clock_mono_us() + e->us, &e->line, &e->err);
	return NULL;
}

static void meet(struct end *dialer, struct end *listener, const char *listener_token)
{
	pthread_t thread;
	int fds[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	*dialer = (struct end){ .fd = fds[0], .dials = true, .token = token, .us = SOON_US };
	*listener = (struct end){ .fd = fds[1], .token = listener_token, .us = SOON_US };
	CHECK_EQ(pthread_create(&thread, NULL, begin, listener), 0);
	begin(dialer);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void two_that_know_the_token_can_talk(void)
{
	static const char *const said[] = { "", "a", "a longer one" };
	struct end dialer, listener;
	size_t i;

	meet(&dialer, &listener, token);
	CHECK_EQ(dialer.r, 0);
	CHECK_EQ(listener.r, 0);
	for (i = 0; i < ARRAY_SIZE(said); i++) {
		CLEANUP(freep) char *heard = NULL;
		CLEANUP(freep) char *back = NULL;
		size_t length = 0;

		CHECK_EQ(oob_send(&dialer.line, said[i], strlen(said[i]), clock_mono_us() + SOON_US,
				  NULL),
			 0);
		CHECK_EQ(oob_receive(&listener.line, clock_mono_us() + SOON_US, &heard, &length,
				     NULL),
			 0);
		CHECK_STR(heard, said[i]);
		CHECK_EQ(length, strlen(said[i]));
		CHECK_EQ(oob_send(&listener.line, "yes", 3, clock_mono_us() + SOON_US, NULL), 0);
		CHECK_EQ(oob_receive(&dialer.line, clock_mono_us() + SOON_US, &back, &length, NULL),
			 0);
		CHECK_STR(back, "yes");
	}
	oob_close(&dialer.line);
	oob_close(&listener.line);
}

static void another_token_is_refused_on_both_sides(void)
{
	struct end dialer, listener;

	meet(&dialer, &listener, "another");
	CHECK_EQ(dialer.r, -EACCES);
	CHECK_EQ(listener.r, -EACCES);
	CHECK_STR(dialer.err.msg,
		  "the listener has another token: give both hosts the same --token-file");
	CHECK_STR(listener.err.msg,
		  "the dialer has another token: give both hosts the same --token-file");
}

/* What a stranger sends before it closes (or stays), to a listener. */
static int stranger(const void *bytes, size_t length, bool stays, struct err *err)
{
	struct oob line = { .fd = -1 };
	int fds[2], r;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(send(fds[0], bytes, length, MSG_NOSIGNAL), (ssize_t)length);
	if (!stays)
		CHECK_EQ(shutdown(fds[0], SHUT_WR), 0);
	r = oob_begin(fds[1], "somebody", false, token, clock_mono_us() + SILENCE_US, &line, err);
	CHECK_EQ(line.fd, -1);
	(void)close(fds[0]);
	return r;
}

static void strangers_are_told_apart_in_one_sentence(void)
{
	unsigned char good[OOB_GREETING_SIZE], newer[OOB_GREETING_SIZE], huge[4096];
	unsigned char unproved[OOB_GREETING_SIZE + SHA256_SIZE] = { 0 };
	struct oob_greeting greeting = { .version = OOB_VERSION };
	struct {
		const void *bytes;
		size_t length;
		bool stays;
		int r;
		const char *words;
	} cases[] = {
		{ "", 0, false, -ECONNRESET, "somebody closed the connection" },
		{ "", 0, true, -ETIMEDOUT, "somebody does not answer" },
		{ "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n....", OOB_GREETING_SIZE, true,
		  -EPROTO, "somebody does not speak this probe's protocol" },
		{ good, sizeof(good) - 1, false, -ECONNRESET, "somebody closed the connection" },
		{ good, sizeof(good), false, -ECONNRESET, "somebody closed the connection" },
		{ good, sizeof(good), true, -ETIMEDOUT, "somebody does not answer" },
		{ newer, sizeof(newer), true, -EPROTONOSUPPORT,
		  "somebody speaks version 2 and this side version 1: install the same version" },
		{ unproved, sizeof(unproved), true, -EACCES, "somebody has another token" },
		{ huge, sizeof(huge), true, -EPROTO, "does not speak this probe's protocol" },
	};
	size_t i;

	oob_greeting_encode(&greeting, good);
	memcpy(unproved, good, sizeof(good));
	greeting.version = 2;
	oob_greeting_encode(&greeting, newer);
	memset(huge, 0xff, sizeof(huge));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(stranger(cases[i].bytes, cases[i].length, cases[i].stays, &err),
			 cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
	}
}

/* After the greeting: frames that are cut, changed, repeated or too long. */
static void frames_that_were_meddled_with_are_refused(void)
{
	static const struct {
		enum { CUT, CHANGED, REPEATED, TOO_LONG, MISSING } how;
		int r;
		const char *words;
	} cases[] = {
		{ CUT, -ECONNRESET, "the dialer closed the connection" },
		{ CHANGED, -EBADMSG, "a message from the dialer has a wrong signature" },
		{ REPEATED, -EBADMSG, "has a wrong signature" },
		{ TOO_LONG, -EMSGSIZE, "the dialer sends more than 65536 bytes at once" },
		{ MISSING, -EBADMSG, "has a wrong signature" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned char frame[OOB_HEADER_SIZE + 4] = { 0 };
		CLEANUP(freep) char *heard = NULL;
		struct end dialer, listener;
		struct err err = ERR_INIT;
		size_t length = sizeof(frame), heard_length;
		int r;

		meet(&dialer, &listener, token);
		oob_header_encode(dialer.line.send_key, cases[i].how == MISSING ? 1 : 0, "body", 4,
				  frame);
		memcpy(frame + OOB_HEADER_SIZE, "body", 4);
		if (cases[i].how == CHANGED)
			frame[OOB_HEADER_SIZE] ^= 1;
		if (cases[i].how == TOO_LONG)
			frame[0] = 0x7f;
		if (cases[i].how == CUT)
			length -= 2;
		CHECK_EQ(send(dialer.line.fd, frame, length, MSG_NOSIGNAL), (ssize_t)length);
		if (cases[i].how == REPEATED) {
			CHECK_EQ(send(dialer.line.fd, frame, length, MSG_NOSIGNAL), (ssize_t)length);
			CHECK_EQ(oob_receive(&listener.line, clock_mono_us() + SOON_US, &heard,
					     &heard_length, NULL),
				 0);
			CHECK_STR(heard, "body");
			free(TAKE(heard));
		}
		oob_close(&dialer.line);
		r = oob_receive(&listener.line, clock_mono_us() + SOON_US, &heard, &heard_length,
				&err);
		CHECK_EQ(r, cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
		oob_close(&listener.line);
	}
}

/* What one side said cannot be said back to it. */
static void keys_are_of_one_direction_and_one_meeting(void)
{
	struct end dialer, listener, again_dialer, again_listener;

	meet(&dialer, &listener, token);
	meet(&again_dialer, &again_listener, token);
	CHECK(oob_same(dialer.line.send_key, listener.line.receive_key));
	CHECK(oob_same(dialer.line.receive_key, listener.line.send_key));
	CHECK(!oob_same(dialer.line.send_key, dialer.line.receive_key));
	CHECK(!oob_same(dialer.line.send_key, again_dialer.line.send_key));
	oob_close(&dialer.line);
	oob_close(&listener.line);
	oob_close(&again_dialer.line);
	oob_close(&again_listener.line);
}

static void a_token_file_has_one_line(void)
{
	static const struct {
		const char *text;
		const char *token; /* NULL: refused */
	} cases[] = {
		{ "abc\n", "abc" },
		{ "abc", "abc" },
		{ "abc\r\n", "abc" },
		{ "", NULL },
		{ "\n", NULL },
		{ "a\nb\n", NULL },
		/* What assayd writes for an all-reduce serves a pair too. */
		{ "abc\npassed h:1\npassed [::1]:2\n", "abc" },
		{ "abc\npassed h:1\nd\n", NULL },
	};
	CLEANUP(freep) char *none = NULL;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *path = test_file("token", cases[i].text);
		CLEANUP(freep) char *found = NULL;
		int r = oob_token_read(path, &found, &err);

		CHECK_EQ(r, cases[i].token ? 0 : -EINVAL);
		CHECK_STR(found, cases[i].token);
		if (!cases[i].token)
			CHECK_HAS(err.msg, "token: expected one line with a token");
	}
	CHECK_EQ(oob_token_read("nowhere/token", &none, &err), -ENOENT);
}

static void *dial(void *argument)
{
	struct end *e = argument;

	e->r = oob_dial(e->token, token, clock_mono_us() + SOON_US, &e->line, &e->err);
	return NULL;
}

static void who_has_the_token_is_let_in_and_who_has_not_is_named(void)
{
	char bound[OOB_NAME_SIZE];
	CLEANUP(closep) int fd = -1;
	struct end right = { .fd = -1 }, wrong = { .fd = -1 };
	struct oob line = { .fd = -1 };
	struct err err = ERR_INIT;
	pthread_t thread;

	CHECK_EQ(oob_listen("127.0.0.1:0", clock_mono_us() + SOON_US, bound, &fd, &err), 0);
	CHECK(strlen(bound) > strlen("127.0.0.1:0"));
	CHECK_EQ(oob_accept(fd, token, clock_mono_us() + SILENCE_US, &line, &err), -ETIMEDOUT);
	CHECK_STR(err.msg, "nobody came");

	wrong.token = right.token = bound;
	CHECK_EQ(pthread_create(&thread, NULL, dial, &right), 0);
	CHECK_EQ(oob_accept(fd, token, clock_mono_us() + SOON_US, &line, &err), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(right.r, 0);
	oob_close(&right.line);
	oob_close(&line);

	CHECK_EQ(pthread_create(&thread, NULL, dial, &wrong), 0);
	CHECK_EQ(oob_accept(fd, "another", clock_mono_us() + USEC_PER_SEC, &line, &err), -ETIMEDOUT);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(wrong.r, -EACCES);
	CHECK_HAS(err.msg, "nobody connected with this token; the last error: 127.0.0.1:");
}

/* A name may have an address of a family that nobody listens on, or that is not here at all. */
static void all_addresses_of_a_name_are_tried(void)
{
	char bound[OOB_NAME_SIZE];
	int fd = -1, connected = -1;
	struct sockaddr_in four;
	socklen_t length = sizeof(four);
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct addrinfo last = { .ai_family = AF_INET,
				 .ai_addr = (struct sockaddr *)&four,
				 .ai_addrlen = sizeof(four) };
	struct addrinfo first = { .ai_family = AF_INET6,
				  .ai_addr = (struct sockaddr *)&six,
				  .ai_addrlen = sizeof(six),
				  .ai_next = &last };

	CHECK_EQ(oob_listen("127.0.0.1:0", clock_mono_us() + SOON_US, bound, &fd, NULL), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&four, &length), 0);
	six.sin6_port = four.sin_port;
	CHECK_EQ(oob_connect(&first, clock_mono_us() + SOON_US, &connected), 0);
	(void)close(connected);
	(void)close(fd);
	CHECK_EQ(oob_connect(&first, clock_mono_us() + SOON_US, &connected), -ECONNREFUSED);
}

/* Who listens must not wait for ever for a connection that it cannot take. */
static void a_host_that_can_take_no_connection_says_so(void)
{
	char bound[OOB_NAME_SIZE];
	CLEANUP(closep) int fd = -1;
	CLEANUP(closep) int client = -1;
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);
	struct oob line = { .fd = -1 };
	struct err err = ERR_INIT;
	struct rlimit before, none;

	CHECK_EQ(oob_listen("127.0.0.1:0", clock_mono_us() + SOON_US, bound, &fd, NULL), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	client = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(connect(client, (struct sockaddr *)&at, length), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(oob_accept(fd, token, clock_mono_us() + SILENCE_US, &line, &err), -EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_HAS(err.msg, "cannot take a connection: Too many open files");
}

/* They come faster than they are refused: the wait ends all the same. */
static void strangers_without_end_do_not_keep_it_waiting(void)
{
	char bound[OOB_NAME_SIZE];
	CLEANUP(closep) int fd = -1;
	CLEANUP(closep) int client = -1;
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);
	struct oob line = { .fd = -1 };

	CHECK_EQ(oob_listen("127.0.0.1:0", clock_mono_us() + SOON_US, bound, &fd, NULL), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	client = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(connect(client, (struct sockaddr *)&at, length), 0);
	CHECK_EQ(oob_accept(fd, token, clock_mono_us(), &line, NULL), -ETIMEDOUT);
	/* Not even looked at: it waits still. */
	CHECK_EQ(recv(client, &at, 1, MSG_DONTWAIT), -1);
	CHECK_EQ(errno, EAGAIN);
}

static void addresses_that_are_none_are_refused(void)
{
	static const char *const addresses[] = { "", "host", ":1", "host:", "127.0.0.1:x", "[]:1" };
	char bound[OOB_NAME_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct err err = ERR_INIT;
		int fd = -1;

		CHECK_EQ(oob_listen(addresses[i], clock_mono_us() + SOON_US, bound, &fd, &err),
			 -EINVAL);
		CHECK_HAS(err.msg, addresses[i]);
		CHECK_EQ(fd, -1);
	}
}

static void nobody_there_is_told_at_the_deadline(void)
{
	char bound[OOB_NAME_SIZE];
	struct oob line = { .fd = -1 };
	struct err err = ERR_INIT;
	int fd = -1;

	CHECK_EQ(oob_listen("127.0.0.1:0", clock_mono_us() + SOON_US, bound, &fd, &err), 0);
	(void)close(fd);
	CHECK_EQ(oob_dial(bound, token, clock_mono_us() + SILENCE_US, &line, &err), -ECONNREFUSED);
	CHECK_HAS(err.msg, "does not answer: Connection refused");
}

static const struct test tests[] = {
	TEST(a_mac_is_that_of_the_standard),
	TEST(two_that_know_the_token_can_talk),
	TEST(another_token_is_refused_on_both_sides),
	TEST(strangers_are_told_apart_in_one_sentence),
	TEST(frames_that_were_meddled_with_are_refused),
	TEST(keys_are_of_one_direction_and_one_meeting),
	TEST(a_token_file_has_one_line),
	TEST(who_has_the_token_is_let_in_and_who_has_not_is_named),
	TEST(all_addresses_of_a_name_are_tried),
	TEST(a_host_that_can_take_no_connection_says_so),
	TEST(strangers_without_end_do_not_keep_it_waiting),
	TEST(addresses_that_are_none_are_refused),
	TEST(nobody_there_is_told_at_the_deadline),
};

TEST_SUITE(tests);
