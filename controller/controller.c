/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/controller.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/auth/join.h"
#include "controller/fleet/findings_fleet.h"
#include "controller/http/api.h"
#include "controller/store/store.h"
#include "controller/store/store_joins.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/net/pem_sum.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

/* A certificate with its chain, or a few CAs. */
enum { PEM_MAX = 256 * 1024 };

/* Priority of the commit: after incoming data, before queries (api_questions.h). */
enum { READY_PRIORITY = 50 };

/* Background work runs in slices with a pause between them, so it takes at most a tenth of a core.
 * FIRST: when it starts; LOOK: how often to check whether there is any. */
#define UPKEEP_PAUSE_US (20 * USEC_PER_MSEC)
#define UPKEEP_FIRST_US (2 * USEC_PER_SEC)
#define UPKEEP_LOOK_US USEC_PER_SEC

/* A failed store counts as healthy again after this time without failures: CALM while reports come
 * in, CALM_ALONE while there are none. */
#define CALM_US (5 * USEC_PER_SEC)
#define CALM_ALONE_US USEC_PER_MIN
#define COMMIT_AGAIN_US USEC_PER_SEC /* retry of a failed commit that no caller waits for */

void controller_wake_orders(struct service *s, const char *node)
{
	s->wiring->orders_changed(s, node);
}

void controller_wake_advice(struct service *s)
{
	s->wiring->advice_changed(s);
}

/* --- the parts --- */

/* Returns the next part, or NULL at the end. `at` starts at 0. */
static const struct controller_part *next_part(const struct service *s, size_t *at)
{
	return s->wiring->parts[*at] ? s->wiring->parts[(*at)++] : NULL;
}

/* Call `event` of all parts. */
#define PARTS_TELL(s, event)                           \
	do {                                           \
		const struct controller_part *part_;   \
		size_t at_ = 0;                        \
                                                       \
		while ((part_ = next_part(s, &at_))) { \
			if (part_->event)              \
				part_->event(s);       \
		}                                      \
	} while (0)

void controller_tick(struct service *s)
{
	PARTS_TELL(s, tick);
}

static void forget(struct service *s, const char *node)
{
	const struct controller_part *part;
	size_t at = 0;

	while ((part = next_part(s, &at))) {
		if (part->forgotten)
			part->forgotten(s, node);
	}
}

static int open_parts(struct service *s, struct err *err)
{
	const struct controller_part *part;
	size_t at = 0;
	int r = 0;

	while (r == 0 && (part = next_part(s, &at))) {
		if (part->open)
			r = part->open(s, err);
	}
	return r;
}

/* In reverse order, as later parts may use earlier ones. */
static void close_parts(struct service *s)
{
	size_t n = 0;

	while (next_part(s, &n))
		;
	while (n-- > 0) {
		if (s->wiring->parts[n]->close)
			s->wiring->parts[n]->close(s);
	}
}

/* --- commits --- */

/* A newly stored report may change the opinion of its host (opinion.h), and so its orders. */
static void look_at_nodes(struct service *s, const json_t *nodes)
{
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++)
		controller_wake_orders(s, json_string_value(json_array_get(nodes, i)));
}

/* Are all reports of the batch duplicates of durable ones? */
static bool has_nothing_new(const struct service *s)
{
	size_t i;

	for (i = 0; i < s->n_batch; i++) {
		if (s->batch[i].accepted > 0)
			return false;
	}
	return true;
}

/*
 * Answer the waiting callers; `err` is NULL if everything is durable. If the batch has only
 * duplicates, they were stored before it and are acknowledged even if the commit failed.
 */
static void answer_all(struct service *s, const struct err *err)
{
	const bool old = has_nothing_new(s);
	size_t n = s->n_batch, i;

	s->n_batch = s->n_reports = 0;
	for (i = 0; i < n; i++) {
		struct waiting *w = &s->batch[i];

		if (err && !(old && w->duplicates > 0)) {
			json_decref(w->answer);
			call_refuse(w->call, 503, "it could not be stored: %s", err->msg);
		} else {
			/* Before the reply: its receiver may read the counters at once. */
			s->counts.accepted += w->accepted;
			s->counts.duplicates += w->duplicates;
			call_reply(w->call, w->status, w->answer);
			look_at_nodes(s, w->nodes);
		}
		json_decref(w->nodes);
	}
}

void service_failed(struct service *s, const struct err *err)
{
	s->counts.commit_failures++;
	store_take_back(s->store);
	hosts_release(&s->hosts); /* may be ahead of the store: reloaded from it */
	PARTS_TELL(s, failed);
	/* Redo what was not committed. */
	retention_job_failed(&s->upkeep.retention);
	baseline_saver_failed(&s->saver, &s->baselines);
	if (!s->failing)
		log_error("%s: reports are refused until it can be written again", err->msg);
	s->failing = true;
	s->failed_us = clock_mono_us();
	answer_all(s, err);
}

/* A nearly full disk may accept one report and refuse the next: avoid a log line for each. */
static void note_written(struct service *s)
{
	uint64_t calm_us = s->n_batch > 0 ? CALM_US : CALM_ALONE_US;

	if (!s->failing || clock_mono_us() - s->failed_us < calm_us)
		return;
	log_info("the store can be written again: reports are accepted");
	s->failing = false;
}

static void commit(struct service *s)
{
	struct err err = ERR_INIT;
	uint64_t start_us = clock_mono_us();

	PARTS_TELL(s, committing);
	if (s->n_batch == 0 && !store_dirty(s->store)) {
		PARTS_TELL(s, committed); /* callers that only read wait for the commit, too */
		return;
	}
	if (store_commit(s->store, &err) < 0) {
		service_failed(s, &err);
		return;
	}
	note_written(s);
	s->last_commit_us = clock_mono_us();
	ingest_counts_commit(&s->counts, s->last_commit_us - start_us);
	answer_all(s, NULL);
	PARTS_TELL(s, written);
	/* A good moment for a copy of the store: no transaction is open. Under load there is no
	 * other. */
	(void)store_upkeep_copy(s->store);
	PARTS_TELL(s, committed);
}

static int on_commit(sd_event_source *source, uint64_t now_us, void *context)
{
	(void)source;
	(void)now_us;
	commit(context);
	return 0;
}

/* With no more input pending, a batch of COMMIT_READY reports is committed without waiting for
 * more. */
static int on_ready(sd_event_source *source, void *context)
{
	struct service *s = context;

	(void)source;
	if (s->n_reports >= COMMIT_READY)
		commit(s);
	return 0;
}

/*
 * A single report is committed at once; under load a batch every 50 ms. A failed commit that no
 * caller waits for is retried less often: after a failure parts start over and may write again at
 * once, which would leave no time for input.
 */
static void arm_commit(struct service *s)
{
	const uint64_t least_us = s->failing && s->n_batch == 0 ? COMMIT_AGAIN_US : COMMIT_EVERY_US;
	const uint64_t next_us = MAX(s->last_commit_us, s->failed_us) + least_us;

	(void)sd_event_source_set_time(s->commit_timer, next_us);
	(void)sd_event_source_set_enabled(s->commit_timer, SD_EVENT_ONESHOT);
}

void service_wait(struct service *s, const struct waiting *waiting)
{
	load_shed_kept(&s->shed);
	call_hold(waiting->call, NULL, NULL);
	s->batch[s->n_batch++] = *waiting;
	s->n_reports += waiting->accepted + waiting->duplicates;
	if (s->n_batch == 1) {
		s->batch_work_us = 0;
		arm_commit(s);
	}
	if (s->n_batch == BATCH_MAX || s->n_reports >= BATCH_REPORTS_MAX)
		commit(s);
	else if (s->n_reports >= COMMIT_READY)
		(void)sd_event_source_set_enabled(s->commit_ready, SD_EVENT_ONESHOT);
}

bool service_full(const struct service *s)
{
	return s->n_batch > 0 && s->batch_work_us >= BATCH_WORK_US;
}

void service_touch(struct service *s)
{
	if (s->n_batch == 0)
		arm_commit(s);
}

void controller_wake_parts(struct service *s, uint64_t after_us)
{
	int armed = SD_EVENT_OFF;

	(void)sd_event_source_get_enabled(s->commit_timer, &armed);
	if (armed != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time_relative(s->commit_timer, after_us);
	(void)sd_event_source_set_enabled(s->commit_timer, SD_EVENT_ONESHOT);
}

/* Is it the token of a host that joined by itself? Negative if the store cannot be read. */
static int find_joined(struct service *s, const char *token, struct identity *ret)
{
	struct err err = ERR_INIT;
	char hex[SHA256_HEX_SIZE];
	int r;

	sha256_of_text(token, hex);
	r = store_joined_by(s->store, hex, s->joined_node, &err);
	if (r < 0) {
		service_failed(s, &err);
		return r;
	}
	*ret = (struct identity){ .role = ROLE_NODE, .node = s->joined_node };
	return s->joined_node[0] != '\0';
}

static bool is_of_cluster(const struct service *s, const char *token)
{
	return s->token_review && s->token_review->ops->takes(token);
}

static enum api_known identify(void *context, const char *token, const char *peer,
			       struct identity *ret)
{
	struct service *s = context;
	int joined;

	if (tokens_identify(&s->tokens, token, peer, ret))
		return API_KNOWN_YES;
	joined = token ? find_joined(s, token, ret) : 0;
	if (joined > 0)
		return API_KNOWN_YES;
	return joined < 0 || (token && is_of_cluster(s, token)) ? API_KNOWN_LATER : API_KNOWN_NOT;
}

static void on_token_review(void *context, const struct token_review_answer *answer)
{
	struct call *call = context;

	if (answer->status == 0) {
		call_identified(call, &answer->who);
		return;
	}
	if (answer->retry_s)
		call_retry_within(call, answer->retry_s);
	call_refuse(call, answer->status, "%s", answer->words);
}

static void ask(void *context, struct call *call, const char *token)
{
	struct service *s = context;
	char origin[CALL_ORIGIN_SIZE];

	if (!is_of_cluster(s, token)) {
		/* Not 401: hosts treat that as permanent. */
		call_refuse(call, 503, "the store cannot be read");
		return;
	}
	call_origin(call, origin);
	s->token_review->ops->ask(s->token_review, &(struct token_review_question){
							   token, origin, on_token_review, call });
}

static int read_pem(const char *path, char **ret_text, struct err *err)
{
	return path ? file_read(AT_FDCWD, path, PEM_MAX, ret_text, NULL, err) : 0;
}

static int read_ca(const char *path, struct service *s, struct err *err)
{
	int r = read_pem(path, &s->ca, err);

	if (r < 0 || !path)
		return r;
	r = pem_sum(s->ca, s->ca_sum, err);
	return r < 0 ? err_wrap(err, r, "ca: %s", path) : 0;
}

/* Copy the limits from the settings to the objects that enforce them. */
static void apply_limits(struct service *s)
{
	s->buckets.rate = (double)s->settings->report_rate;
	s->buckets.burst = (double)s->settings->report_burst;
	s->buckets.max = s->settings->nodes_max;
	s->join_refusals.rate = JOIN_REFUSED_RATE;
	s->join_refusals.burst = JOIN_REFUSED_BURST;
	s->join_refusals.max = JOIN_ORIGINS_MAX;
	s->upkeep.retention.retention = s->settings->keep;
	s->upkeep.retention.max_bytes = s->settings->db_max;
}

static int read_neighbors(struct service *s, const struct settings *settings, struct err *err)
{
	const char *path = settings->collectives.file;

	return path ? rail_map_read(path, &s->rail_map, err) : 0;
}

static int read_files(struct service *s, struct settings *settings, struct err *err)
{
	int r = rules_read(settings->policy, &s->rules, err);

	s->settings = settings;
	if (r == 0 && settings->tokens)
		r = tokens_read(settings->tokens, &s->tokens, err);
	s->tokens.open = settings_open(settings);
	/* Behind a proxy, client certificates identify only the proxy: page_proxy.h. */
	s->tokens.certificates = settings->client_ca && !settings->page.proxy.certificate;
	apply_limits(s);
	if (r == 0)
		r = read_pem(settings->tls_cert, &s->tls_cert, err);
	if (r == 0)
		r = read_pem(settings->tls_key, &s->tls_key, err);
	if (r == 0)
		r = read_pem(settings->client_ca, &s->client_ca, err);
	return r == 0 ? read_ca(settings->ca, s, err) : r;
}

static int read_page(struct service *s, const struct settings *settings, struct err *err)
{
	CLEANUP(freep) char *folder = paths_page();

	if (!settings->page.on || settings_page_waits(s->settings, settings))
		return 0;
	return page_files_read(folder, &s->page, err);
}

/* Files named by settings that may change in a reload. */
static int read_renewed(struct service *s, const struct settings *settings, struct err *err)
{
	int r = read_neighbors(s, settings, err);

	return r == 0 ? read_page(s, settings, err) : r;
}

int service_read(struct service *s, struct settings *settings, struct err *err)
{
	int r = read_files(s, settings, err);

	return r == 0 ? read_renewed(s, settings, err) : r;
}

static void release_files(struct service *s)
{
	rules_release(&s->rules);
	tokens_release(&s->tokens);
	free(s->tls_cert);
	free(s->tls_key);
	free(s->client_ca);
	free(s->ca);
	rail_map_release(&s->rail_map);
	page_files_release(&s->page);
}

static void service_freep(struct service **s)
{
	release_files(*s);
	free(*s);
}

int service_reload(struct service *s, struct settings *fresh_settings, char **ret_others,
		   struct err *err)
{
	CLEANUP(service_freep) struct service *fresh = xcalloc(1, sizeof(*fresh));
	struct rules old_rules = s->rules;
	struct tokens old_tokens = s->tokens;
	struct rail_map old_rail_map = s->rail_map;
	struct page_files old_page = s->page;
	char *old_ca = s->ca;
	int r = read_files(fresh, s->settings, err);

	if (r == 0)
		r = read_renewed(fresh, fresh_settings, err);
	if (r == 0 && fresh->tls_cert)
		r = api_renew_tls(s->api, fresh->tls_cert, fresh->tls_key, fresh->client_ca, err);
	if (r < 0) {
		s->counts.reload_failures++;
		return r;
	}
	/* Cannot fail from here on: the reload is all or nothing. */
	s->rules = fresh->rules;
	s->tokens = fresh->tokens;
	s->rail_map = fresh->rail_map;
	s->page = fresh->page;
	s->ca = fresh->ca;
	memcpy(s->ca_sum, fresh->ca_sum, sizeof(s->ca_sum));
	fresh->ca = old_ca;
	fresh->rules = old_rules;
	fresh->tokens = old_tokens;
	fresh->rail_map = old_rail_map;
	fresh->page = old_page;
	anomalies_forgive_file(&s->baselines.anomalies);
	*ret_others = settings_renew(s->settings, fresh_settings);
	apply_limits(s);
	s->counts.reloads++;
	return 0;
}

int controller_check_tls(const struct service *s, struct err *ret_soon, struct err *err)
{
	return s->tls_cert ? api_check_tls(s->tls_cert, s->tls_key, s->client_ca, ret_soon, err)
			   : 0;
}

static int open_api(struct service *s, char **ret_address, struct err *err)
{
	struct api_options options = {
		.address = s->settings->listen,
		.context = s,
		.identify = identify,
		.ask = ask,
		.connections_max = (unsigned)s->settings->connections_max,
		.connections_per_peer = (unsigned)s->settings->connections_per_peer,
		.open_to_host = settings_open_to_host(s->settings),
		.tls_cert = s->tls_cert,
		.tls_key = s->tls_key,
		.client_ca = s->client_ca,
	};

	s->wiring->set_routes(&options);
	return api_open(&options, s->loop, &s->api, ret_address, err);
}

static void tell_health(struct service *s)
{
	struct store_health health = store_health(s->store);

	if (health.damaged == s->told_damaged)
		return;
	s->told_damaged = health.damaged;
	log_error("%s: %" PRIu64 " pages differ from what was written, the first at byte %" PRIu64
		  ": the file is damaged, or another program wrote to it: see docs/store.md",
		  s->settings->db, health.damaged, health.first_byte);
}

/* Log what was found when the store was opened. The store is used all the same. */
static void tell_start(struct service *s)
{
	static const char *const words[] = {
		[SUMS_MISSING] = "is not there",
		[SUMS_UNREADABLE] = "cannot be read",
		[SUMS_OTHER] = "belongs to another store",
	};
	const struct store_health health = store_health(s->store);

	if (words[health.sums])
		log_warning("%s-sums: %s: cannot tell whether the store was changed in the "
			    "meantime; writing a new one",
			    s->settings->db, words[health.sums]);
	if (health.lost_commits > 0)
		log_error("%s: acknowledged data is missing: the last %" PRIu64
			  " commits, with %" PRIu64 " reports: its log is damaged, or it is an "
			  "older copy: see docs/store.md",
			  s->settings->db, health.lost_commits, health.lost_reports);
	tell_health(s);
}

/* --- background work --- */

/* Baselines without new data are kept as long as silent hosts are. */
static uint64_t baselines_since_us(const struct service *s)
{
	uint64_t now_us = clock_real_us();

	return now_us - MIN(now_us, s->settings->keep.nodes_us);
}

static int save(struct service *s, uint64_t now_us, uint64_t deadline_us, struct err *err)
{
	if (now_us >= s->save_us) {
		s->save_us = now_us + BASELINE_SAVE_US;
		baseline_saver_begin(&s->saver, &s->baselines, baselines_since_us(s));
	}
	return baseline_saver_step(&s->saver, s->store, clock_real_us(), deadline_us, err);
}

/* Run one slice. Returns 1 if there is more to do at once. */
static int keep_up(struct service *s, uint64_t now_us, struct err *err)
{
	int r = 0, more;

	/* There may be no reports for a while: test whether the store can be written again. */
	if (s->failing)
		r = store_put_mark(s->store, "tried", clock_real_us(), err);
	if (r == 0)
		r = store_upkeep_thin(&s->upkeep, s->store, now_us, err);
	if (r < 0)
		return r;
	more = save(s, now_us, now_us + STORE_UPKEEP_SLICE_US, err);
	if (more < 0)
		return more;
	r |= more;
	more = store_upkeep_look(&s->upkeep, s->store, now_us, err);
	tell_health(s);
	return more < 0 ? more : r | more;
}

static int on_upkeep(sd_event_source *source, uint64_t due_us, void *context)
{
	struct service *s = context;
	struct err err = ERR_INIT;
	int r = keep_up(s, clock_mono_us(), &err);

	(void)due_us;
	baselines_tell(&s->baselines, &s->told_full, clock_mono_us());
	if (r < 0)
		service_failed(s, &err);
	else if (store_dirty(s->store))
		service_touch(s);
	(void)sd_event_source_set_time_relative(source, r == 1 ? UPKEEP_PAUSE_US : UPKEEP_LOOK_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void on_forgotten(void *context, const char *node)
{
	struct service *s = context;

	baselines_forget(&s->baselines, node);
	forget(s, node);
	hosts_forget(&s->hosts, node);
	opinions_forget(&s->opinions, node);
	live_forget(&s->live, node);
	log_info("removing a host that has not reported for long node=%s", node);
}

static int open_upkeep(struct service *s, struct err *err)
{
	uint64_t hosts = 0;
	int r = baselines_load(&s->baselines, s->store, baselines_since_us(s), &hosts, err);

	if (r < 0)
		return r;
	s->upkeep.retention.forgotten = on_forgotten;
	s->upkeep.retention.context = s;
	s->save_us = clock_mono_us() + BASELINE_SAVE_US;
	r = sd_event_add_time_relative(s->loop, &s->upkeep_timer, CLOCK_MONOTONIC, UPKEEP_FIRST_US,
				       USEC_PER_MSEC, on_upkeep, s);
	/* Default priority: retention must also run on a controller that is busy all day. */
	return r < 0 ? err_errno(err, -r, "event loop") : 0;
}

/* Save the baselines, to be stored with the last commit. */
static void stop_upkeep(struct service *s)
{
	struct err err = ERR_INIT;

	s->saver.closing = true;
	/* Without the timer we never started, and there is nothing to save. */
	if (s->upkeep_timer && save(s, UINT64_MAX, UINT64_MAX, &err) < 0) {
		log_warning("cannot save the baselines: %s", err.msg);
		store_take_back(s->store);
	}
	s->upkeep_timer = sd_event_source_disable_unref(s->upkeep_timer);
	retention_job_release(&s->upkeep.retention);
	baseline_saver_release(&s->saver);
}

/* --- begin and end --- */

static int open_all(struct service *s, sd_event *loop, char **ret_address, struct err *err)
{
	int r = store_open(s->settings->db, &s->store, err);

	s->loop = sd_event_ref(loop);
	if (r == 0)
		tell_start(s);
	if (r == 0)
		r = findings_begin(s->store, &s->baselines, err);
	if (r == 0)
		r = store_count_nodes(s->store, &s->nodes_most, err);
	if (r < 0)
		return r;
	r = sd_event_add_time(loop, &s->commit_timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC, on_commit,
			      s);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	r = sd_event_add_defer(loop, &s->commit_ready, on_ready, s);
	if (r >= 0)
		r = sd_event_source_set_priority(s->commit_ready, READY_PRIORITY);
	if (r >= 0)
		r = sd_event_source_set_enabled(s->commit_ready, SD_EVENT_OFF);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	r = open_parts(s, err);
	if (r == 0)
		r = open_upkeep(s, err);
	if (r == 0 && settings_token_review(s->settings))
		r = s->token_review_open(s->settings, loop, &s->token_review, err);
	return r == 0 ? open_api(s, ret_address, err) : r;
}

int service_open(struct service *s, sd_event *loop, char **ret_address, struct err *err)
{
	int r = open_all(s, loop, ret_address, err);

	/* Errors from reading the store are prefixed with its file name. */
	if (r < 0 && err && s->store &&
	    (starts_with(err->msg, "store: ") || store_health(s->store).damaged > 0))
		return err_wrap(err, r, "%s", s->settings->db);
	return r;
}

/* Commits cause further writes, such as the ledger entry of a finished cordon; commit those too. */
static void commit_last(struct service *s)
{
	int i;

	for (i = 0; i < LAST_COMMITS && (i == 0 || !s->failing); i++)
		commit(s); /* free if there is nothing to write */
}

void service_close(struct service *s)
{
	s->closing = true;
	PARTS_TELL(s, stop);
	stop_upkeep(s);
	if (s->store)
		commit_last(s);
	token_review_close(TAKE(s->token_review)); /* before the API: its calls wait there */
	api_close(s->api);
	close_parts(s);
	store_close(s->store);
	release_files(s);
	token_buckets_release(&s->buckets);
	token_buckets_release(&s->join_refusals);
	free(s->metrics_text);
	free(s->node_metrics_text);
	jmemo_release(&s->memo);
	live_release(&s->live);
	hosts_release(&s->hosts);
	opinions_release(&s->opinions);
	baselines_release(&s->baselines);
	s->commit_timer = sd_event_source_disable_unref(s->commit_timer);
	s->commit_ready = sd_event_source_disable_unref(s->commit_ready);
	s->loop = sd_event_unref(s->loop);
	s->api = NULL;
	s->store = NULL;
}
