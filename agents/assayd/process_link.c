/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/process_link.h"

#include <stdlib.h>

#include "agents/assayd/delivery.h"
#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"
#include "lib/sys/host.h"

#define FORMAT "assay-processes/1"
#define TIMEOUT_US (60 * USEC_PER_SEC)

enum { ANSWER_MAX = 64 * 1024 };

struct process_link {
	struct http *http;
	struct http_request *request;
	char *url, *node;
	size_t n;
	char *body;			/* of the running request */
	char sending[SHA256_HEX_SIZE];	/* digest of its contents, without ages */
	char answered[SHA256_HEX_SIZE]; /* digest last acknowledged: not sent again */
	uint64_t answered_us;		/* monotonic */
	struct err told;		/* the last error logged: one line per error is enough */
};

static void complain(struct process_link *l, const struct err *why)
{
	if (!streq(l->told.msg, why->msg))
		log_warning("cannot tell the controller which ranks run here: %s", why->msg);
	l->told = *why;
}

/* Refused permanently, as by an older controller: wait for the next regular turn. */
static bool is_final(unsigned status)
{
	return status >= 400 && status < 500 && status != 401 && status != 429;
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct process_link *l = context;
	struct err why = ERR_INIT;

	l->request = NULL;
	free(TAKE(l->body));
	if (answer->r < 0) {
		(void)err_set(&why, -answer->r, "%s", answer->why);
		complain(l, &why);
		return;
	}
	if (answer->status != 200) {
		(void)delivery_judge(answer->status, answer->body, answer->len, &why);
		complain(l, &why);
		if (!is_final(answer->status))
			return;
	} else {
		if (!streq(l->answered, l->sending))
			log_info("ranks sent n=%zu", l->n);
		l->told = (struct err)ERR_INIT;
	}
	memcpy(l->answered, l->sending, sizeof(l->answered));
	l->answered_us = clock_mono_us();
}

static void put(struct process_link *l, const struct process_entry *entries, size_t n)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };
	CLEANUP(freep) char *url = xasprintf("%s/v1/nodes/%s/processes", l->url, l->node);
	CLEANUP(freep) char *boot = host_boot_id();
	CLEANUP(json_freep)
	json_t *all = json_pack("{s:s, s:s, s:o}", "format", FORMAT, "boot_id", boot, "processes",
				process_map_encode(entries, n, true));
	struct http_call call = {
		.method = "PUT",
		.url = url,
		.headers = headers,
		.timeout_us = TIMEOUT_US,
		.answer_max = ANSWER_MAX,
		.done = on_answer,
		.context = l,
	};
	struct err err = ERR_INIT;

	l->n = n;
	l->body = json_line(all);
	call.body = l->body;
	call.body_len = strlen(l->body);
	if (http_send(l->http, &call, &l->request, &err) < 0) {
		complain(l, &err);
		free(TAKE(l->body));
	}
}

static void digest(const struct process_entry *entries, size_t n, char ret[static SHA256_HEX_SIZE])
{
	CLEANUP(json_freep) json_t *all = process_map_encode(entries, n, false);
	CLEANUP(freep) char *text = json_line(all);
	struct sha256 sum;

	sha256_init(&sum);
	sha256_add_text(&sum, text);
	sha256_hex(&sum, ret);
}

void process_link_look(struct process_link *l, const struct process_entry *entries, size_t n)
{
	char hex[SHA256_HEX_SIZE] = "";

	if (l->request)
		return;
	/* An empty list is sent once, too: a previous assayd may have reported processes. */
	digest(entries, n, hex);
	if (streq(hex, l->answered) &&
	    (n == 0 || clock_mono_us() < l->answered_us + PROCESS_LINK_AGAIN_US))
		return;
	memcpy(l->sending, hex, sizeof(hex));
	put(l, entries, n);
}

struct process_link *process_link_new(struct http *http, const char *url, const char *node)
{
	struct process_link *l = xcalloc(1, sizeof(*l));

	l->http = http;
	l->url = xstrdup(url);
	l->node = xstrdup(node);
	return l;
}

void process_link_free(struct process_link *l)
{
	if (!l)
		return;
	http_cancel(l->request);
	free(l->body);
	free(l->url);
	free(l->node);
	free(l);
}
