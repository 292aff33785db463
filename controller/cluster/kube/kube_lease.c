/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_lease.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/lease_state.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Releasing it is a courtesy that must not delay the exit. */
#define YIELD_US (2 * USEC_PER_SEC)

enum { HOST_NAME_SIZE = 256, EXIT_STATUS_LOST = 1 };

struct kube_fence {
	struct kube_fence_options options;
	struct lease_state state;
	sd_event_source *timer;
	struct kube_request *request;
	char *failed; /* why the last request failed, or NULL */
	char *told;   /* other leader named in the log, or NULL */
	bool leads;   /* reported */
	bool ended;   /* reported */
	bool alone;   /* no election */
	uint64_t epoch;
};

bool kube_fence_holds(const struct kube_fence *fence)
{
	return fence->alone || lease_holds(&fence->state, clock_boot_us());
}

uint64_t kube_fence_epoch(const struct kube_fence *fence)
{
	return fence->epoch;
}

const char *kube_fence_identity(const struct kube_fence *fence)
{
	return fence->state.identity;
}

const char *kube_fence_other(const struct kube_fence *fence)
{
	return fence->alone ? NULL : lease_other(&fence->state, clock_boot_us());
}

/* --- callbacks --- */

static void lose(struct kube_fence *f)
{
	CLEANUP(freep) char *why = NULL;
	const char *other = kube_fence_other(f);

	if (f->ended)
		return;
	f->ended = true;
	why = other ? xasprintf("'%.200s' has taken the Lease", other)
		    : xasprintf("the Lease could not be renewed: %s",
				f->failed ? f->failed : "no answer came in time");
	log_error("no longer the leader; stopping without writing anything: %s", why);
	f->options.lost(f->options.context, why);
	(void)sd_event_exit(f->options.loop, EXIT_STATUS_LOST);
}

static void gain(struct kube_fence *f)
{
	f->leads = true;
	f->epoch = f->state.seen.transitions;
	log_info("now the leader: acquired the Lease name=%s epoch=%" PRIu64, f->state.identity,
		 f->epoch);
	f->options.gained(f->options.context, f->epoch);
}

static void tell(struct kube_fence *f)
{
	const char *other = kube_fence_other(f);

	if (!f->leads && kube_fence_holds(f))
		gain(f);
	if (!streq(other, f->told) && !f->ended) {
		if (other)
			log_info("standing by: another controller is the leader: '%.200s'", other);
		free(f->told);
		f->told = xstrdup(other);
	}
}

/* --- requests --- */

static int result_of(const struct kube_answer *answer)
{
	switch (answer->status) {
	case 200:
	case 201:
		return LEASE_OK;
	case 404:
		return LEASE_ABSENT;
	case 409:
		return LEASE_CONFLICT;
	case 403:
		return LEASE_REFUSED;
	default:
		return LEASE_FAILED;
	}
}

static void go_on(struct kube_fence *f);

/* Log it once while it stays the same. */
static void note_failed(struct kube_fence *f, const char *words)
{
	if (words && !streq(words, f->failed))
		log_warning("the Lease " KUBE_LEASE_NAME ": %s", words);
	free(f->failed);
	f->failed = xstrdup(words);
}

static void on_answer(void *context, const struct kube_answer *answer)
{
	struct kube_fence *f = context;
	const struct lease_answer said = { .result = result_of(answer),
					   .object = answer->body,
					   .retry_us = answer->retry_us };

	f->request = NULL;
	note_failed(f, said.result == LEASE_FAILED || said.result == LEASE_REFUSED ? answer->words
										   : NULL);
	lease_answer(&f->state, &said, clock_boot_us(), random_u64());
	tell(f);
	go_on(f);
}

static int make_path(const struct kube *kube, bool create, char *path, struct err *err)
{
	static const char leases[] = "/apis/coordination.k8s.io/v1/namespaces/%s/leases";
	static const char lease[] = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/%s";

	return create ? kube_path(path, err, leases, kube_namespace(kube))
		      : kube_path(path, err, lease, kube_namespace(kube), KUBE_LEASE_NAME);
}

static int ask(struct kube_fence *f, enum lease_step step, struct err *err)
{
	static const char *const methods[] = {
		[LEASE_READ] = "GET",
		[LEASE_CREATE] = "POST",
		[LEASE_TAKE] = "PUT",
		[LEASE_RENEW] = "PUT",
	};
	struct kube *kube = f->options.kube;
	CLEANUP(json_freep) json_t *body = NULL;
	char path[KUBE_PATH_MAX];
	int r = make_path(kube, step == LEASE_CREATE, path, err);

	if (r < 0)
		return r;
	if (step != LEASE_READ)
		body = lease_body(&f->state, step, KUBE_LEASE_NAME, kube_namespace(kube),
				  clock_real_us());
	return kube_send(kube,
			 &(struct kube_call){ .method = methods[step],
					      .path = path,
					      .content = body ? KUBE_JSON : KUBE_NO_BODY,
					      .body = body,
					      .timeout_us = f->state.times.request_us,
					      .done = on_answer,
					      .context = f },
			 &f->request, err);
}

static void wake_at(struct kube_fence *f, uint64_t at_us)
{
	(void)sd_event_source_set_time(f->timer, at_us);
	(void)sd_event_source_set_enabled(f->timer,
					  at_us == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static void go_on(struct kube_fence *f)
{
	static const struct lease_answer failed = { .result = LEASE_FAILED };
	uint64_t now_us = clock_boot_us(), wake_us;
	enum lease_step next = lease_next(&f->state, now_us, &wake_us);
	struct err err = ERR_INIT;

	if (next == LEASE_LOST) {
		lose(f);
		return;
	}
	if (next != LEASE_WAIT && ask(f, next, &err) < 0) {
		note_failed(f, err.msg);
		lease_answer(&f->state, &failed, now_us, random_u64());
	}
	if (next != LEASE_WAIT) /* requests end with our time at the latest */
		(void)lease_next(&f->state, now_us, &wake_us);
	wake_at(f, wake_us);
}

static int on_timer(sd_event_source *source UNUSED, uint64_t due_us UNUSED, void *context)
{
	struct kube_fence *f = context;

	if (f->alone)
		gain(f);
	else
		go_on(f);
	return 0;
}

/* --- begin and end --- */

static char *make_identity(void)
{
	char host[HOST_NAME_SIZE] = "";

	(void)gethostname(host, sizeof(host) - 1);
	return xasprintf("%s_%016" PRIx64 "%016" PRIx64, host, random_u64(), random_u64());
}

static struct lease_times times_of_environment(void)
{
	const char *text = secure_getenv("ASSAY_TEST_LEASE_SECONDS");
	const unsigned long seconds = text ? strtoul(text, NULL, 10) : 0;

	if (seconds < 1 || seconds > LEASE_SECONDS)
		return lease_times(LEASE_SECONDS);
	log_warning("FOR TESTS ONLY: the Lease lasts %lu s (ASSAY_TEST_LEASE_SECONDS)", seconds);
	return lease_times((unsigned)seconds);
}

int kube_fence_open(const struct kube_fence_options *options, struct kube_fence **ret_fence,
		    struct err *err)
{
	CLEANUP(kube_fence_closep) struct kube_fence *f = xcalloc(1, sizeof(*f));
	CLEANUP(freep) char *identity = make_identity();
	const struct lease_times times = times_of_environment();
	int r;

	f->options = *options;
	f->state = lease_state(identity, &times);
	f->alone = streq(secure_getenv("ASSAY_TEST_NO_ELECTION"), "1");
	if (f->alone)
		log_warning("FOR TESTS ONLY: NO ELECTION (ASSAY_TEST_NO_ELECTION=1): several "
			    "controllers may act at once");
	r = sd_event_add_time(options->loop, &f->timer, CLOCK_BOOTTIME, 0, USEC_PER_MSEC, on_timer,
			      f);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	*ret_fence = TAKE(f);
	return 0;
}

void kube_fence_close(struct kube_fence *f)
{
	if (!f)
		return;
	kube_cancel(TAKE(f->request));
	f->timer = sd_event_source_disable_unref(f->timer);
	lease_state_release(&f->state);
	free(f->failed);
	free(f->told);
	free(f);
}

static void on_yielded(void *context, const struct kube_answer *answer)
{
	if (answer->status != 200)
		log_info("cannot release the Lease, it will expire: %s", answer->words);
	*(bool *)context = true;
}

/* The program's loop has ended, so this request needs one of its own. */
static int give_back(struct kube_fence *f, const struct kube_config *config, struct err *err)
{
	CLEANUP(sd_event_unrefp) sd_event *loop = NULL;
	CLEANUP(kube_closep) struct kube *kube = NULL;
	CLEANUP(json_freep) json_t *body = NULL;
	const uint64_t deadline_us = clock_mono_us() + YIELD_US;
	struct kube_request *request = NULL;
	bool answered = false;
	char path[KUBE_PATH_MAX];
	int r = sd_event_new(&loop);

	if (r < 0)
		return err_errno(err, -r, "event loop");
	r = kube_open(loop, config, &kube, err);
	if (r == 0)
		r = make_path(kube, false, path, err);
	if (r < 0)
		return r;
	body = lease_body_yield(&f->state, KUBE_LEASE_NAME, kube_namespace(kube), clock_real_us());
	r = kube_send(kube,
		      &(struct kube_call){ .method = "PUT",
					   .path = path,
					   .content = KUBE_JSON,
					   .body = body,
					   .timeout_us = YIELD_US,
					   .done = on_yielded,
					   .context = &answered },
		      &request, err);
	while (r >= 0 && !answered && clock_left_us(deadline_us) > 0)
		r = sd_event_run(loop, clock_left_us(deadline_us));
	return r < 0 ? r : 0;
}

void kube_fence_yield(struct kube_fence *f, const struct kube_config *config)
{
	struct err err = ERR_INIT;
	const bool holds = !f->alone && kube_fence_holds(f);

	kube_cancel(TAKE(f->request));
	wake_at(f, UINT64_MAX);
	f->ended = true;
	f->alone = false;
	f->state.lost = true;
	if (holds && give_back(f, config, &err) < 0)
		log_info("cannot release the Lease, it will expire: %s", err.msg);
}
