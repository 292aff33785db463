/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpretation of responses: any status, Content-Type, path and body results in a one-line
 * message, and only JSON of an API server is a success.
 */
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_error.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"
#include "tests/fuzz/fuzz.h"

enum { STATUS_LEAST = 100, STATUSES = 500 };

/* Returns the text up to the next newline, which it replaces by NUL, and advances `*text` past it. */
static char *take_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

static void check(const struct kube_raw *raw, const struct kube_answer *answer)
{
	struct err words = { .code = 1 };

	FUZZ_CHECK(answer->result <= CLUSTER_AGAIN && answer->result != CLUSTER_NOT_OURS);
	FUZZ_CHECK(answer->reason && answer->words);
	FUZZ_CHECK(answer->retry_us <= HTTP_RETRY_AFTER_MAX_S * USEC_PER_SEC);
	FUZZ_CHECK((answer->result == CLUSTER_DONE) == (answer->words[0] == '\0'));
	if (answer->result == CLUSTER_DONE) {
		FUZZ_CHECK(answer->r == 0 && answer->status >= 200 && answer->status <= 299);
		FUZZ_CHECK(answer->body || !starts_with(raw->path, "/api"));
		return;
	}
	FUZZ_CHECK((answer->r < 0) == (answer->status == 0));
	memcpy(words.msg, answer->words, strlen(answer->words) + 1);
	fuzz_refused(-1, &words);
}

/* Input: a line with the status, one with the path, one with the Content-Type; then the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	char *rest = text, *first;
	struct kube_raw raw = { .method = "GET", .audit = "" };
	struct kube_reading reading;
	CLEANUP(freep) char *path = NULL;

	first = take_line(&rest);
	raw.status = STATUS_LEAST + (unsigned)strtoul(first, NULL, 10) % STATUSES;
	path = xasprintf("/%s", take_line(&rest));
	raw.path = path;
	raw.content_type = take_line(&rest);
	raw.body = rest;
	raw.len = strlen(rest);
	kube_answer_read(&raw, &reading);
	check(&raw, &reading.answer);
	kube_reading_release(&reading);
	return 0;
}
