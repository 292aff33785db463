/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's API with any bytes of a client: request lines, paths, queries,
 * cursors, headers, tokens, bodies. The whole service runs in this process with
 * its own store; the client is one end of a socket pair. Whatever it sends, the
 * service answers or closes, and leaves nothing open.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/actions/remediation.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/http/api_accept.h"
#include "controller/http/api_inside.h"
#include "controller/http/api_turn.h"
#include "controller/routes/metrics_walk.h"
#include "controller/routes/routes.h"
#include "controller/routes/routes_advice.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/fuzz/fuzz.h"

enum {
	HOSTS_MAX = 8,
	CONNECTIONS_MAX = 64,
	CALLS_PER_STORE = 2000, /* then a new one, because reports accumulate in it */
	TURNS_MAX = 20000,
	ANSWER_SEEN = 4096,
};

#define TURN_US (10 * USEC_PER_SEC)

struct world {
	struct settings settings;
	struct service *service;
	sd_event *loop;
	unsigned calls;
};

static struct world world;

/* Of "node-token", "read-token" and "admin-token". */
static const char tokens[] =
	"v: 1\n"
	"tokens:\n"
	"  - sha256: 1e16c337973f9ad03ebb4df8c7d71ded6a5b12f4c89a3f8866d33efc62f0c54b\n"
	"    node: gpu-1\n"
	"  - sha256: 0328587016f9e316b9c31c94f944a2c453e1494a564062b5eab68039c75b58bf\n"
	"    role: read\n"
	"  - sha256: 10a4c7c9fc5206d6f36dc6944a81bb6f4a3cb0e25014ae3b12e6c3e52712292a\n"
	"    role: admin\n";

/* --- reviews of tokens with a dot: asynchronous, half of them are accepted --- */

static bool takes(const char *token)
{
	return strchr(token, '.') != NULL;
}

static int on_turn(sd_event_source *source, void *context)
{
	struct token_review_question *q = context;
	struct token_review_answer answer = { .words = "nobody knows", .retry_s = 1 };

	(void)sd_event_source_disable_unref(source);
	if (streq(q->origin, "known"))
		answer.who = (struct identity){ ROLE_NODE, "gpu-1", "agent" };
	else
		answer.status = streq(q->origin, "busy") ? 503 : 401;
	q->done(q->context, &answer);
	free(q);
	return 0;
}

static void ask_later(struct token_review *v, const struct token_review_question *question)
{
	static const char *const fates[] = { "known", "busy", "unknown" };
	struct token_review_question *q = xcalloc(1, sizeof(*q));
	sd_event_source *source = NULL;

	(void)v;
	*q = *question;
	q->token = NULL;
	q->origin = fates[strlen(question->token) % ARRAY_SIZE(fates)];
	FUZZ_CHECK(sd_event_add_defer(world.loop, &source, on_turn, q) >= 0);
}

static struct token_review_counts no_counts(const struct token_review *v)
{
	(void)v;
	return (struct token_review_counts){ 0 };
}

static void close_review(struct token_review *v)
{
	(void)v;
}

static const struct token_review_ops token_review_ops = { takes, ask_later, no_counts,
							  close_review };

static const struct controller_part *const parts[] = { &remediation_part, &campaigns_part,
						       &metrics_part, NULL };
static const struct controller_wiring wiring = { parts, routes_set, orders_wake,
						 routes_advice_wake };

static void world_open(struct world *w)
{
	static struct token_review token_review = { &token_review_ops };
	CLEANUP(freep) char *address = NULL;
	struct err err = ERR_INIT;

	log_init("fuzz", LOG_EMERG);
	fuzz_write("tokens.yaml", (const uint8_t *)tokens, sizeof(tokens) - 1);
	w->settings = settings_init();
	free(w->settings.listen);
	free(w->settings.db);
	w->settings.listen = xstrdup("127.0.0.1:0");
	w->settings.db = xasprintf("%s/assay.db", fuzz_dir());
	w->settings.tokens = xasprintf("%s/tokens.yaml", fuzz_dir());
	w->settings.nodes_max = HOSTS_MAX;
	w->settings.connections_max = w->settings.connections_per_peer = CONNECTIONS_MAX;
	w->service = xcalloc(1, sizeof(*w->service));
	w->service->wiring = &wiring;
	FUZZ_CHECK(service_read(w->service, &w->settings, &err) == 0);
	FUZZ_CHECK(sd_event_new(&w->loop) >= 0);
	FUZZ_CHECK(service_open(w->service, w->loop, &address, &err) == 0);
	w->service->token_review = &token_review;
	w->calls = 0;
}

static void world_close(struct world *w)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	size_t i;

	service_close(w->service);
	free(w->service);
	w->service = NULL;
	w->loop = sd_event_unref(w->loop);
	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		CLEANUP(freep) char *path = xasprintf("%s%s", w->settings.db, suffixes[i]);

		(void)unlink(path);
	}
	settings_release(&w->settings);
}

static void close_world(void)
{
	if (world.service)
		world_close(&world);
}

static struct world *fresh_world(bool *ret_fresh)
{
	static bool known;

	if (world.service && world.calls++ >= CALLS_PER_STORE)
		world_close(&world);
	if (!world.service) {
		(void)fuzz_dir(); /* first, so that it is removed after ours */
		if (!known)
			(void)atexit(close_world);
		known = true;
		world_open(&world);
		*ret_fresh = true;
	}
	return &world;
}

static int connect_client(struct api *api)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	int ends[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	api_accept_take(api, ends[1], (struct sockaddr *)&from, sizeof(from));
	return ends[0];
}

static void check_answer(const char *answer, size_t length)
{
	char *end = NULL;
	long status;

	if (length == 0)
		return;
	FUZZ_CHECK(starts_with(answer, "HTTP/1."));
	status = strtol(answer + strlen("HTTP/1.1 "), &end, 10);
	FUZZ_CHECK(status >= 100 && status < 600 && status != 500);
}

/* Runs the service until it has closed the connection. */
static void serve(struct world *w, int fd)
{
	char answer[ANSWER_SEEN + 1] = "", piece[ANSWER_SEEN];
	size_t length = 0, turns = 0;
	ssize_t n = -1;

	while (n != 0) {
		FUZZ_CHECK(turns++ < TURNS_MAX);
		n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == ECONNRESET)
			break;
		if (n < 0)
			FUZZ_CHECK(errno == EAGAIN && sd_event_run(w->loop, TURN_US) > 0);
		if (n <= 0)
			continue;
		memcpy(answer + length, piece, MIN((size_t)n, ANSWER_SEEN - length));
		length += MIN((size_t)n, ANSWER_SEEN - length);
	}
	check_answer(answer, length);
}

/* Checks that nothing of the call is left. */
static void check_rest(struct world *w)
{
	struct api_counts counts;
	size_t turns = 0;

	do {
		FUZZ_CHECK(turns++ < TURNS_MAX);
		FUZZ_CHECK(sd_event_run(w->loop, 0) >= 0);
		api_run(w->service->api);
		counts = api_counts(w->service->api);
	} while (counts.connections > 0);
	FUZZ_CHECK(counts.held == 0 && counts.body_bytes == 0 && w->service->n_batch == 0);
}

/* One connection: sends these bytes, then closes. */
static void talk(struct world *w, const void *bytes, size_t size)
{
	CLEANUP(closep) int fd = connect_client(w->service->api);

	w->service->last_commit_us = 0; /* do not wait for the next batch */
	FUZZ_CHECK(send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size);
	(void)shutdown(fd, SHUT_WR);
	api_run(w->service->api); /* handing over a connection does not wake the loop */
	serve(w, fd);
	check_rest(w);
}

/* Adds a host with an incident, so that queries about one have results. */
static void add_host(struct world *w)
{
	static const char body[] =
		"{\"v\":1,\"kind\":\"report\",\"node\":\"gpu-1\",\"boot_id\":\"b\",\"seq\":1,"
		"\"time\":\"2026-11-20T10:00:00Z\",\"profile\":\"quick\",\"sku\":\"generic-cpu\","
		"\"env\":{\"kernel\":\"6.1.0\"},\"samples\":[{\"v\":1,\"check\":\"host.kernel_"
		"log\","
		"\"subject\":\"pci:0000:1b:00.0\",\"value\":1,\"unit\":\"1\",\"better\":\"none\","
		"\"ok\":false,\"state\":\"measured\",\"severity\":\"fatal\"}],\"problems\":[]}";
	CLEANUP(freep)
	char *request = xasprintf("POST /v1/reports HTTP/1.1\r\nHost: x\r\n"
				  "Authorization: Bearer admin-token\r\n"
				  "Content-Length: %zu\r\n\r\n%s",
				  strlen(body), body);

	talk(w, request, strlen(request));
	FUZZ_CHECK(w->service->counts.accepted == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool fresh = false;
	struct world *w = fresh_world(&fresh);

	if (fresh)
		add_host(w);
	talk(w, data, size);
	return 0;
}
