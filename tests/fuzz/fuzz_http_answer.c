/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/net/http with any bytes of a server: the request ends with an answer or an
 * error message, and its limits hold. This program's connect() gives libcurl one
 * end of a socket pair; the response is already written to the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"
#include "lib/sys/file.h"
#include "tests/fuzz/fuzz.h"

enum { BODY_MAX = 2048, TURNS_MAX = 10000 };

static const uint8_t *server_bytes;
static size_t server_size;
static int server_end = -1; /* of the last connection */
static bool done;

/* Replaces connect(2). */
int connect(int fd, const struct sockaddr *address UNUSED, socklen_t length UNUSED)
{
	int ends[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	FUZZ_CHECK(dup2(ends[0], fd) == fd);
	(void)close(ends[0]);
	(void)send(ends[1], server_bytes, server_size, MSG_NOSIGNAL);
	/* Half closed: the request can still be written, but is never read. */
	(void)shutdown(ends[1], SHUT_WR);
	closep(&server_end);
	server_end = ends[1];
	return 0;
}

static void on_answer(void *context UNUSED, const struct http_answer *answer)
{
	struct err err = { .code = EIO };

	done = true;
	FUZZ_CHECK(answer->len <= BODY_MAX && answer->body[answer->len] == 0);
	FUZZ_CHECK(answer->retry_after_us <= HTTP_RETRY_AFTER_MAX_S * USEC_PER_SEC);
	if (answer->r == 0) {
		FUZZ_CHECK(answer->status >= 100 && answer->status <= 599);
		return;
	}
	FUZZ_CHECK(answer->status == 0 && answer->len == 0);
	memcpy(err.msg, answer->why, MIN(strlen(answer->why) + 1, sizeof(err.msg)));
	fuzz_refused(answer->r, &err);
}

static void exchange(sd_event *loop, struct http *http)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };
	const struct http_call call = { .method = "POST",
					.url = "http://127.0.0.1:9/v1/reports",
					.headers = headers,
					.body = "{}",
					.body_len = 2,
					.timeout_us = 10 * USEC_PER_SEC,
					.answer_max = BODY_MAX,
					.done = on_answer };
	struct err err = ERR_INIT;
	int turns = 0;

	done = false;
	FUZZ_CHECK(http_send(http, &call, NULL, &err) == 0);
	while (!done) {
		FUZZ_CHECK(turns++ < TURNS_MAX);
		FUZZ_CHECK(sd_event_run(loop, UINT64_MAX) >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct http_options options = { .user_agent = "assayd" };
	static sd_event *loop;
	CLEANUP(http_freep) struct http *http = NULL;
	struct err err = ERR_INIT;

	if (!loop)
		FUZZ_CHECK(sd_event_new(&loop) >= 0);
	server_bytes = data;
	server_size = size;
	FUZZ_CHECK(http_new(loop, &options, &http, &err) == 0);
	exchange(loop, http);
	return 0;
}
