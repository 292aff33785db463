/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/assayd_check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <systemd/sd-event.h>

#include "agents/assayd/assayd_config.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

enum { ANSWER_MAX = 64 * 1024 };

struct question {
	sd_event *event;
	const struct assayd_config *config;
	int r;
	struct err said, err;
};

/* What it says of the refusal, or nothing. */
static void read_detail(const struct http_answer *answer, struct err *ret)
{
	CLEANUP(json_freep) json_t *object = NULL;
	const char *detail;

	(void)json_parse(answer->body, answer->len, "answer", &object, NULL);
	detail = json_string_value(json_object_get(object, "detail"));
	(void)err_set(ret, EACCES, "%.300s", detail ? detail : "it does not say why");
}

static int judge(struct question *q, const struct http_answer *answer)
{
	const struct assayd_config *c = q->config;
	struct err detail = ERR_INIT;

	if (answer->r == -EKEYREJECTED || answer->r == -EINVAL)
		return err_set(&q->err, -answer->r, "%s", answer->why);
	if (answer->r < 0) {
		(void)err_set(&q->said, -answer->r,
			      "the controller was not asked whether it takes reports of '%s': %s",
			      c->node, answer->why);
		return 0;
	}
	read_detail(answer, &detail);
	switch (answer->status) {
	case 200:
	case 204:
	case 400:
		(void)err_set(&q->said, EAGAIN, "%s takes reports of '%s'", c->controller, c->node);
		return 0;
	case 401:
	case 403:
		return err_set(&q->err, EACCES,
			       "%s: %u: it will not take reports of '%s': %s: see node, token_file "
			       "and cert, and the tokens of the controller",
			       c->controller, answer->status, c->node, detail.msg);
	default:
		(void)err_set(&q->said, EAGAIN,
			      "%s does not say whether it takes reports of '%s': it answers %u",
			      c->controller, c->node, answer->status);
		return 0;
	}
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct question *q = context;

	q->r = judge(q, answer);
	(void)sd_event_exit(q->event, 0);
}

static int ask(struct question *q, struct http *http, struct err *err)
{
	CLEANUP(freep)
	char *url = xasprintf("%s/v1/nodes/%s/orders?wait=none", q->config->controller,
			      q->config->node);
	const struct http_call call = {
		.method = "GET",
		.url = url,
		.timeout_us = ASSAYD_CHECK_TIMEOUT_US,
		.answer_max = ANSWER_MAX,
		.done = on_answer,
		.context = q,
	};
	int r = http_send(http, &call, NULL, err);

	if (r < 0)
		return r;
	r = sd_event_loop(q->event);
	return r < 0 ? err_errno(err, -r, "the event loop failed") : 0;
}

static bool is_loopback(const char *url)
{
	static const char *const hosts[] = { "http://127.", "http://localhost:", "http://localhost/",
					     "http://[::1]" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		if (starts_with(url, hosts[i]))
			return true;
	}
	return streq(url, "http://localhost");
}

void assayd_warn(const struct assayd_config *config)
{
	const bool in_pod = secure_getenv("KUBERNETES_SERVICE_HOST") != NULL;
	struct stat st;

	if (!config->token_file)
		return;
	/* A pod's files are in a mount of its own, readable for all in it. */
	if (!in_pod && stat(config->token_file, &st) == 0 && (st.st_mode & S_IROTH))
		log_warning("%s: anybody on this host may read it: chmod 640", config->token_file);
	if (starts_with(config->controller, "http://") && !is_loopback(config->controller))
		log_warning("%s: the token goes to it unencrypted: use https", config->controller);
}

int assayd_check(const struct assayd_config *config, struct err *ret_said, struct err *err)
{
	const struct http_options options = {
		.ca_file = config->ca,
		.cert_file = config->cert,
		.key_file = config->key,
		.token_file = config->token_file,
		.user_agent = "assayd/" PACKAGE_VERSION,
	};
	CLEANUP(sd_event_unrefp) sd_event *event = NULL;
	CLEANUP(http_freep) struct http *http = NULL;
	struct question q = { .config = config, .said = ERR_INIT, .err = ERR_INIT };
	int r = sd_event_new(&event);

	if (r < 0)
		return err_errno(err, -r, "cannot make an event loop");
	q.event = event;
	r = http_new(event, &options, &http, err);
	if (r == 0)
		r = ask(&q, http, err);
	if (r < 0)
		return r;
	if (q.r < 0)
		return err_set(err, -q.r, "%s", q.err.msg);
	*ret_said = q.said;
	return 0;
}
