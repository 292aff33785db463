/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "controller/api.h"
#include "controller/routes.h"
#include "controller/store.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/file.h"
#include "lib/log.h"

/* A certificate with its chain, or those of a few authorities. */
enum { PEM_MAX = 256 * 1024 };

/* Those who wait get their answer: `err` is NULL when all is durable. */
static void answer_all(struct service *s, const struct err *err)
{
	size_t n = s->n_batch, i;

	s->n_batch = 0;
	for (i = 0; i < n; i++) {
		const struct waiting *w = &s->batch[i];

		if (err)
			call_refuse(w->call, 503, "the report could not be kept: %s", err->msg);
		else if (w->duplicate)
			call_reply(w->call, 200, json_pack("{s:i}", "duplicate", 1));
		else
			call_reply(w->call, 202, json_pack("{s:i}", "accepted", 1));
		s->metrics.accepted += !err && !w->duplicate;
		s->metrics.duplicates += !err && w->duplicate;
	}
}

void service_failed(struct service *s, const struct err *err)
{
	s->metrics.commit_failures++;
	store_take_back(s->store);
	log_error("%s reports=%zu", err->msg, s->n_batch);
	answer_all(s, err);
}

static void commit(struct service *s)
{
	struct err err = ERR_INIT;
	uint64_t start_us = clock_mono_us();

	if (s->n_batch == 0)
		return;
	if (store_commit(s->store, &err) < 0) {
		service_failed(s, &err);
		return;
	}
	s->last_commit_us = clock_mono_us();
	metrics_commit(&s->metrics, s->last_commit_us - start_us);
	answer_all(s, NULL);
}

static int on_commit(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source;
	(void)now_us;
	commit(context);
	return 0;
}

/* A lone report is committed at once, of many each 50 ms their batch. */
static void arm_commit(struct service *s)
{
	uint64_t next_us = s->last_commit_us + COMMIT_EVERY_US;

	(void)sd_event_source_set_time(s->commit_timer, next_us);
	(void)sd_event_source_set_enabled(s->commit_timer, SD_EVENT_ONESHOT);
}

void service_wait(struct service *s, struct call *call, bool duplicate)
{
	call_hold(call, NULL, NULL);
	s->batch[s->n_batch++] = (struct waiting){ call, duplicate };
	if (s->n_batch == 1)
		arm_commit(s);
	if (s->n_batch == BATCH_MAX)
		commit(s);
}

static bool identify(void *context, const char *token, const char *peer, struct identity *ret)
{
	struct service *s = context;

	return access_identify(&s->access, token, peer, ret);
}

static int read_pem(const char *path, char **ret_text, struct err *err)
{
	return path ? file_read(AT_FDCWD, path, PEM_MAX, ret_text, NULL, err) : 0;
}

int service_read(struct service *s, const struct settings *settings, struct err *err)
{
	int r = rules_read(settings->policy, &s->rules, err);

	s->settings = settings;
	if (r == 0 && settings->tokens)
		r = access_read(settings->tokens, &s->access, err);
	s->access.open = !settings->tokens && !settings->client_ca;
	s->access.certificates = settings->client_ca != NULL;
	s->limiter = (struct limiter){ .rate = (double)settings->report_rate,
				       .burst = (double)settings->report_burst,
				       .max = settings->nodes_max };
	if (r == 0)
		r = read_pem(settings->tls_cert, &s->tls_cert, err);
	if (r == 0)
		r = read_pem(settings->tls_key, &s->tls_key, err);
	return r == 0 ? read_pem(settings->client_ca, &s->client_ca, err) : r;
}

static int open_api(struct service *s, char **ret_address, struct err *err)
{
	struct api_options options = {
		.address = s->settings->listen,
		.context = s,
		.identify = identify,
		.connections_max = (unsigned)s->settings->connections_max,
		.tls_cert = s->tls_cert,
		.tls_key = s->tls_key,
		.client_ca = s->client_ca,
	};

	routes_set(&options);
	return api_open(&options, s->loop, &s->api, ret_address, err);
}

int service_open(struct service *s, sd_event *loop, char **ret_address, struct err *err)
{
	int r = store_open(s->settings->db, &s->store, err);

	s->loop = sd_event_ref(loop);
	if (r < 0)
		return r;
	r = sd_event_add_time(loop, &s->commit_timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC, on_commit,
			      s);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	return open_api(s, ret_address, err);
}

void service_close(struct service *s)
{
	s->closing = true;
	if (s->store)
		commit(s);
	api_close(s->api);
	store_close(s->store);
	rules_release(&s->rules);
	access_release(&s->access);
	limiter_release(&s->limiter);
	live_release(&s->live);
	baselines_release(&s->baselines);
	free(s->tls_cert);
	free(s->tls_key);
	free(s->client_ca);
	s->commit_timer = sd_event_source_disable_unref(s->commit_timer);
	s->loop = sd_event_unref(s->loop);
	s->api = NULL;
	s->store = NULL;
}
