/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests whose sender has to be authenticated externally: the real API over socket pairs, with a
 * reviewer that answers when the test wants it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/http/api_accept.h"
#include "controller/http/api_inside.h"
#include "controller/http/api_turn.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

enum { ASKED_MAX = 4, SEEN_MAX = 8192, BODY_MAX = 1024 * 1024 };

#define DEADLINE_US (20 * USEC_PER_SEC)
#define TURN_US (20 * USEC_PER_MSEC)

struct world {
	sd_event *loop;
	struct api *api;
	struct call *asked[ASKED_MAX];
	size_t n_asked, n_handled;
	struct call *held; /* by a handler */
	size_t body_length;
	char who[64], origin[CALL_ORIGIN_SIZE];
	bool at_once; /* answer before ask() returns */
	int client;
	char seen[SEEN_MAX];
	size_t n_seen;
	bool ended;
};

static const struct identity gpu_1 = { ROLE_NODE, "gpu-1", "robot" };

static void handle(void *context, struct call *call)
{
	struct world *w = context;
	const struct identity *who = call_identity(call);
	bool gzip;

	w->n_handled++;
	(void)call_body(call, &w->body_length, &gzip);
	(void)snprintf(w->who, sizeof(w->who), "%d %s %s", who->role, who->node ? who->node : "-",
		       who->name ? who->name : "-");
	call_reply_text(call, 200, "text/plain", xstrdup("handled\n"));
}

static void handle_later(void *context, struct call *call)
{
	struct world *w = context;

	w->n_handled++;
	w->held = call;
	call_hold(call, NULL, NULL);
}

static enum api_known identify(void *context UNUSED, const char *token, const char *peer UNUSED,
			       struct identity *ret)
{
	if (streq(token, "known"))
		*ret = gpu_1;
	return streq(token, "known")   ? API_KNOWN_YES
	       : streq(token, "later") ? API_KNOWN_LATER
				       : API_KNOWN_NOT;
}

static void ask(void *context, struct call *call, const char *token)
{
	struct world *w = context;

	CHECK_STR(token, "later");
	CHECK(w->n_asked < ASKED_MAX);
	call_origin(call, w->origin);
	if (w->at_once)
		call_identified(call, &gpu_1);
	else
		w->asked[w->n_asked] = call;
	w->n_asked++;
}

static const struct route routes[] = {
	{ "POST", "/post", ROLE_NODE, BODY_MAX, handle },
	{ "POST", "/later", ROLE_NODE, BODY_MAX, handle_later },
	{ "GET", "/get", ROLE_NODE, 0, handle },
	{ "GET", "/admin", ROLE_ADMIN, 0, handle },
};

static void world_open(struct world *w)
{
	CLEANUP(freep) char *address = NULL;
	const struct api_options options = {
		.address = "127.0.0.1:0",
		.routes = routes,
		.n_routes = ARRAY_SIZE(routes),
		.context = w,
		.identify = identify,
		.ask = ask,
		.connections_max = 8,
		.connections_per_peer = 8,
	};
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001) };
	struct err err = ERR_INIT;
	int ends[2];

	log_init("test", LOG_EMERG);
	CHECK(sd_event_new(&w->loop) >= 0);
	CHECK_EQ(api_open(&options, w->loop, &w->api, &address, &err), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	api_accept_take(w->api, ends[1], (struct sockaddr *)&from, sizeof(from));
	w->client = ends[0];
}

static void world_close(struct world *w)
{
	if (w->client >= 0)
		(void)close(w->client);
	api_close(w->api);
	w->loop = sd_event_unref(w->loop);
}

static void look(struct world *w)
{
	ssize_t n = 0;

	while (w->client >= 0 && !w->ended && w->n_seen < SEEN_MAX - 1) {
		n = read(w->client, w->seen + w->n_seen, SEEN_MAX - 1 - w->n_seen);
		if (n <= 0)
			break;
		w->n_seen += (size_t)n;
	}
	w->ended |= w->client >= 0 && (n == 0 || (n < 0 && errno != EAGAIN));
}

static void turn(struct world *w)
{
	api_run(w->api);
	CHECK(sd_event_run(w->loop, TURN_US) >= 0);
	look(w);
}

static void send_bytes(struct world *w, const char *bytes, size_t n)
{
	uint64_t end_us = clock_mono_us() + DEADLINE_US;

	while (n > 0 && clock_mono_us() < end_us) {
		ssize_t sent = send(w->client, bytes, n, MSG_NOSIGNAL);

		if (sent > 0) {
			bytes += sent;
			n -= (size_t)sent;
		} else {
			turn(w);
		}
	}
	CHECK_EQ(n, 0);
}

static void say(struct world *w, const char *text)
{
	send_bytes(w, text, strlen(text));
}

/* Until `text` has come. */
static void expect(struct world *w, const char *text)
{
	uint64_t end_us = clock_mono_us() + DEADLINE_US;

	while (!strstr(w->seen, text) && !w->ended && clock_mono_us() < end_us)
		turn(w);
	CHECK_HAS(w->seen, text);
}

static void until_asked(struct world *w, size_t n)
{
	uint64_t end_us = clock_mono_us() + DEADLINE_US;

	while (w->n_asked < n && clock_mono_us() < end_us)
		turn(w);
	CHECK_EQ(w->n_asked, n);
}

static void forget_seen(struct world *w)
{
	memset(w->seen, 0, sizeof(w->seen));
	w->n_seen = 0;
}

#define HEADER "Host: x\r\nAuthorization: Bearer later\r\n"
#define POST "POST /post HTTP/1.1\r\n" HEADER

static void nothing_of_a_body_is_read_before_its_sender_is_known(void)
{
	struct world w = { 0 };
	int i;

	world_open(&w);
	say(&w, POST "Content-Length: 5\r\n\r\nhello");
	until_asked(&w, 1);
	for (i = 0; i < 3; i++)
		turn(&w);
	CHECK_EQ(w.n_handled, 0);
	CHECK_EQ(w.n_seen, 0);
	CHECK_EQ(api_counts(w.api).held, 1);
	CHECK_EQ(api_counts(w.api).body_bytes, 0);
	CHECK_STR(w.origin, "00000000000000000000ffff0a000001");
	call_identified(w.asked[0], &gpu_1);
	expect(&w, "handled");
	CHECK_HAS(w.seen, "HTTP/1.1 200");
	CHECK_EQ(w.n_handled, 1);
	CHECK_EQ(w.body_length, 5);
	CHECK_STR(w.who, "1 gpu-1 robot");
	CHECK_EQ(api_counts(w.api).held, 0);
	/* The connection goes on as ever. */
	forget_seen(&w);
	say(&w, "GET /get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer known\r\n\r\n");
	expect(&w, "handled");
	CHECK_EQ(w.n_asked, 1);
	CHECK_EQ(w.n_handled, 2);
	world_close(&w);
}

static void every_kind_of_body_arrives_whole(void)
{
	static const struct {
		const char *header, *body;
		size_t length;
	} rows[] = {
		{ "GET /get HTTP/1.1\r\n" HEADER "\r\n", "", 0 },
		{ POST "Content-Length: 0\r\n\r\n", "", 0 },
		{ POST "Content-Length: 3\r\n\r\n", "abc", 3 },
		{ POST "Transfer-Encoding: chunked\r\n\r\n", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 3 },
		{ POST "Transfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n", 0 },
	};
	size_t i, late;

	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		struct world w = { 0 };

		late = i % 2; /* the body comes before, or after its sender is known */
		world_open(&w);
		say(&w, rows[i / 2].header);
		if (!late)
			say(&w, rows[i / 2].body);
		until_asked(&w, 1);
		call_identified(w.asked[0], &gpu_1);
		turn(&w);
		if (late)
			say(&w, rows[i / 2].body);
		expect(&w, "handled");
		CHECK_EQ(w.n_handled, 1);
		CHECK_EQ(w.n_asked, 1);
		CHECK_EQ(w.body_length, rows[i / 2].length);
		world_close(&w);
	}
}

static void who_asks_whether_to_go_on_is_told_once_known(void)
{
	struct world w = { 0 };
	int i;

	world_open(&w);
	say(&w, POST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
	until_asked(&w, 1);
	for (i = 0; i < 3; i++)
		turn(&w);
	CHECK_EQ(w.n_seen, 0);
	call_identified(w.asked[0], &gpu_1);
	expect(&w, "100 Continue");
	say(&w, "abc");
	expect(&w, "handled");
	CHECK_EQ(w.body_length, 3);
	world_close(&w);
	/* Who is refused is not asked to send. */
	w = (struct world){ 0 };
	world_open(&w);
	say(&w, POST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
	until_asked(&w, 1);
	call_refuse(w.asked[0], 401, "nobody");
	expect(&w, "401");
	CHECK(!strstr(w.seen, "100 Continue"));
	world_close(&w);
}

static void a_refusal_reaches_who_still_writes(void)
{
	char *body = xcalloc(BODY_MAX, 1);
	struct world w = { 0 };

	world_open(&w);
	say(&w, POST "Content-Length: 1048576\r\n\r\n");
	until_asked(&w, 1);
	call_refuse(w.asked[0], 401, "nobody knows you");
	send_bytes(&w, body, BODY_MAX);
	expect(&w, "nobody knows you");
	CHECK_HAS(w.seen, "HTTP/1.1 401");
	CHECK_HAS(w.seen, "WWW-Authenticate: Bearer");
	CHECK_EQ(w.n_handled, 0);
	CHECK_EQ(api_counts(w.api).body_bytes, 0);
	free(body);
	world_close(&w);
}

static void the_role_is_looked_at_when_it_is_known(void)
{
	struct world w = { 0 };

	world_open(&w);
	say(&w, "GET /admin HTTP/1.1\r\n" HEADER "\r\n");
	until_asked(&w, 1);
	call_identified(w.asked[0], &gpu_1);
	expect(&w, "HTTP/1.1 403");
	CHECK_EQ(w.n_handled, 0);
	world_close(&w);
}

static void what_is_refused_anyway_asks_for_nobody(void)
{
	static const char *const rows[][2] = {
		{ POST "Content-Length: 9000000\r\n\r\n", "HTTP/1.1 413" },
		{ POST "Content-Length: 1\r\nContent-Encoding: br\r\n\r\nx", "HTTP/1.1 415" },
		{ "GET /nowhere HTTP/1.1\r\n" HEADER "\r\n", "HTTP/1.1 404" },
		{ "GET /get HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer other\r\n\r\n",
		  "HTTP/1.1 401" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w = { 0 };

		world_open(&w);
		say(&w, rows[i][0]);
		expect(&w, rows[i][1]);
		CHECK_EQ(w.n_asked, 0);
		world_close(&w);
	}
}

static void who_is_known_at_once_does_not_wait(void)
{
	struct world w = { .at_once = true };

	world_open(&w);
	say(&w, POST "Content-Length: 5\r\n\r\nhello");
	expect(&w, "handled");
	CHECK_EQ(w.n_asked, 1);
	CHECK_EQ(w.body_length, 5);
	world_close(&w);
}

static void a_handler_may_hold_what_waited_before(void)
{
	struct world w = { 0 };

	world_open(&w);
	say(&w, "POST /later HTTP/1.1\r\n" HEADER "Content-Length: 5\r\n\r\nhello");
	until_asked(&w, 1);
	call_identified(w.asked[0], &gpu_1);
	while (!w.held)
		turn(&w);
	CHECK_EQ(api_counts(w.api).held, 1);
	call_reply_text(w.held, 202, "text/plain", xstrdup("kept\n"));
	expect(&w, "kept");
	CHECK_EQ(w.n_handled, 1);
	world_close(&w);
}

static void a_peer_that_goes_while_it_waits_leaves_nothing(void)
{
	uint64_t end_us = clock_mono_us() + DEADLINE_US;
	struct world w = { 0 };

	world_open(&w);
	say(&w, POST "Content-Length: 5\r\n\r\nhel");
	until_asked(&w, 1);
	(void)close(TAKE_FD(w.client));
	turn(&w);
	call_identified(w.asked[0], &gpu_1);
	while (api_counts(w.api).connections > 0 && clock_mono_us() < end_us)
		turn(&w);
	CHECK_EQ(api_counts(w.api).connections, 0);
	CHECK_EQ(api_counts(w.api).held, 0);
	CHECK_EQ(api_counts(w.api).body_bytes, 0);
	CHECK_EQ(w.n_handled, 0);
	world_close(&w);
}

static void who_waits_when_the_api_closes_is_refused(void)
{
	struct world w = { 0 };

	world_open(&w);
	say(&w, "GET /get HTTP/1.1\r\n" HEADER "\r\n");
	until_asked(&w, 1);
	api_close(TAKE(w.api));
	look(&w);
	CHECK_HAS(w.seen, "HTTP/1.1 503");
	CHECK_EQ(w.n_handled, 0);
	(void)close(w.client);
	w.loop = sd_event_unref(w.loop);
}

static const struct test tests[] = {
	TEST(nothing_of_a_body_is_read_before_its_sender_is_known),
	TEST(every_kind_of_body_arrives_whole),
	TEST(who_asks_whether_to_go_on_is_told_once_known),
	TEST(a_refusal_reaches_who_still_writes),
	TEST(the_role_is_looked_at_when_it_is_known),
	TEST(what_is_refused_anyway_asks_for_nobody),
	TEST(who_is_known_at_once_does_not_wait),
	TEST(a_handler_may_hold_what_waited_before),
	TEST(a_peer_that_goes_while_it_waits_leaves_nothing),
	TEST(who_waits_when_the_api_closes_is_refused),
};

TEST_SUITE(tests);
