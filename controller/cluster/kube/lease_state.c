/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/lease_state.h"

#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	DURATION_MAX_S = 3600, /* larger values are not plausible: ours is used then */
	YIELD_SECONDS = 1,     /* duration in a released Lease */
};

/* If even reading is refused: a server that has just started may not know its roles yet, or a
 * person has to fix it. */
#define REFUSED_BASE_US (4 * USEC_PER_SEC)
#define REFUSED_CAP_US (2 * USEC_PER_MIN)

struct lease_times lease_times(unsigned seconds)
{
	const uint64_t us = seconds * USEC_PER_SEC;

	return (struct lease_times){ us, us * 2 / 3, us * 2 / 15, us / 3 };
}

struct lease_state lease_state(const char *identity, const struct lease_times *times)
{
	return (struct lease_state){ .times = *times,
				     .identity = xstrdup(identity),
				     .refusals = { REFUSED_BASE_US, REFUSED_CAP_US, 0 } };
}

static void seen_release(struct lease_seen *seen)
{
	free(seen->text);
	free(seen->holder);
	free(seen->acquired);
	json_decref(seen->metadata);
	*seen = (struct lease_seen){ 0 };
}

void lease_state_release(struct lease_state *s)
{
	seen_release(&s->seen);
	free(TAKE(s->identity));
}

/* --- the record --- */

static uint64_t duration_of(const struct lease_state *s, const json_t *spec)
{
	const json_int_t seconds =
		json_integer_value(json_object_get(spec, "leaseDurationSeconds"));

	return seconds >= 1 && seconds <= DURATION_MAX_S ? (uint64_t)seconds * USEC_PER_SEC
							 : s->times.duration_us;
}

static const char *uid_of(const json_t *metadata)
{
	return json_string_value(json_object_get(metadata, "uid"));
}

/* Returns false for an invalid object. */
static bool see(struct lease_state *s, const json_t *object, uint64_t now_us)
{
	const json_t *spec = json_object_get(object, "spec");
	json_t *metadata = json_object_get(object, "metadata");
	const char *holder = json_string_value(json_object_get(spec, "holderIdentity"));
	const json_int_t transitions =
		json_integer_value(json_object_get(spec, "leaseTransitions"));
	struct lease_seen seen;

	if (!json_is_string(json_object_get(metadata, "resourceVersion")))
		return false;
	seen = (struct lease_seen){
		.text = spec ? json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS) : xstrdup(""),
		.holder = xstrdup(holder ? holder : ""),
		.acquired = xstrdup(json_string_value(json_object_get(spec, "acquireTime"))),
		.metadata = json_deep_copy(metadata),
		.duration_us = duration_of(s, spec),
		.transitions = transitions > 0 ? (uint64_t)transitions : 0,
		.since_us = now_us,
	};
	if (streq(seen.text, s->seen.text) && streq(uid_of(metadata), uid_of(s->seen.metadata)))
		seen.since_us = s->seen.since_us;
	(void)json_object_del(seen.metadata, "managedFields");
	seen_release(&s->seen);
	s->seen = seen;
	s->absent = false;
	return true;
}

static bool is_ours(const struct lease_state *s)
{
	return s->seen.holder && streq(s->seen.holder, s->identity);
}

/* Does another hold it, unexpired? */
static bool is_taken(const struct lease_state *s, uint64_t now_us)
{
	return s->seen.holder && s->seen.holder[0] && !is_ours(s) &&
	       now_us - s->seen.since_us <= s->seen.duration_us;
}

bool lease_holds(const struct lease_state *s, uint64_t now_us)
{
	return s->holds && !s->lost && now_us < s->held_us + s->times.deadline_us;
}

const char *lease_other(const struct lease_state *s, uint64_t now_us)
{
	return is_taken(s, now_us) ? s->seen.holder : NULL;
}

/* --- next step --- */

static enum lease_step choose(const struct lease_state *s)
{
	if (!s->fresh)
		return LEASE_READ;
	if (s->absent)
		return LEASE_CREATE;
	return is_ours(s) ? LEASE_RENEW : LEASE_TAKE;
}

enum lease_step lease_next(struct lease_state *s, uint64_t now_us, uint64_t *ret_wake_us)
{
	const uint64_t end_us = s->holds ? s->held_us + s->times.deadline_us : UINT64_MAX;

	s->lost |= now_us >= end_us;
	*ret_wake_us = end_us;
	if (s->lost)
		return LEASE_LOST;
	if (s->asked != LEASE_WAIT)
		return LEASE_WAIT;
	if (now_us < s->again_us) {
		*ret_wake_us = MIN(end_us, s->again_us);
		return LEASE_WAIT;
	}
	s->asked = (int)choose(s);
	s->asked_us = now_us;
	return (enum lease_step)s->asked;
}

/* --- answers --- */

/* 1 to 2.2 times the usual interval, so that candidates do not synchronize. */
static uint64_t jittered(const struct lease_state *s, uint64_t random)
{
	return s->times.retry_us + random % (s->times.retry_us * 6 / 5);
}

static void look_again(struct lease_state *s, uint64_t at_us)
{
	s->fresh = false;
	s->again_us = at_us;
}

static void on_read(struct lease_state *s, uint64_t now_us, uint64_t random)
{
	/* Whoever has it now may have got it from a third: ours is lost. */
	if (s->holds && !is_ours(s)) {
		s->lost = true;
		return;
	}
	if (is_taken(s, now_us)) {
		look_again(s, now_us + jittered(s, random));
		return;
	}
	s->fresh = true;
	s->again_us = now_us;
}

/* After a useless write, do not spin. */
static uint64_t next_try(const struct lease_state *s, uint64_t now_us)
{
	return MAX(now_us, s->asked_us + s->times.retry_us);
}

/* A deleted Lease still belongs to its holder for as long as it would have lasted. */
static void on_absent(struct lease_state *s, uint64_t now_us, uint64_t random)
{
	s->absent = true;
	if (s->asked != LEASE_READ) { /* or the namespace does not exist */
		look_again(s, next_try(s, now_us));
	} else if (is_taken(s, now_us)) {
		look_again(s, now_us + jittered(s, random));
	} else {
		s->fresh = true;
		s->again_us = now_us;
	}
}

static void on_conflict(struct lease_state *s, uint64_t now_us, uint64_t random)
{
	const uint64_t soon_us = MAX(now_us, s->asked_us + s->times.retry_us / 8);

	look_again(s, s->holds ? soon_us : now_us + jittered(s, random));
}

static void on_written(struct lease_state *s, uint64_t now_us)
{
	/* Too late to be ours, or it names another holder: do not rely on it. */
	if (now_us >= s->asked_us + s->times.deadline_us || !is_ours(s)) {
		look_again(s, next_try(s, now_us));
		return;
	}
	s->holds = true;
	s->held_us = s->asked_us;
	s->fresh = true;
	s->again_us = next_try(s, now_us);
}

static void on_failed(struct lease_state *s, const struct lease_answer *answer, uint64_t now_us,
		      uint64_t random)
{
	uint64_t wait_us = jittered(s, random);

	if (s->holds) { /* renewal is urgent, whatever pause the server asks for */
		look_again(s, next_try(s, now_us));
		return;
	}
	if (answer->result == LEASE_REFUSED)
		wait_us += backoff_fail(&s->refusals, 0, random);
	look_again(s, now_us + MAX(wait_us, answer->retry_us));
}

void lease_answer(struct lease_state *s, const struct lease_answer *answer, uint64_t now_us,
		  uint64_t random)
{
	const bool ok = answer->result == LEASE_OK && see(s, answer->object, now_us);

	if (answer->result != LEASE_REFUSED)
		backoff_reset(&s->refusals);
	if (ok && s->asked == LEASE_READ)
		on_read(s, now_us, random);
	else if (ok)
		on_written(s, now_us);
	else if (answer->result == LEASE_ABSENT)
		on_absent(s, now_us, random);
	else if (answer->result == LEASE_CONFLICT)
		on_conflict(s, now_us, random);
	else
		on_failed(s, answer, now_us, random);
	s->asked = LEASE_WAIT;
}

/* --- objects to send --- */

/* The server requires exactly six digits. */
static json_t *stamp(uint64_t real_us)
{
	char seconds[CLOCK_STAMP_SIZE];

	clock_stamp(real_us, seconds);
	return json_sprintf("%.19s.%06uZ", seconds, (unsigned)(real_us % USEC_PER_SEC));
}

static json_t *object_of(const struct lease_state *s, bool with_version, const char *name,
			 const char *namespace, json_t *spec)
{
	json_t *metadata = with_version ? json_deep_copy(s->seen.metadata) : json_object();

	(void)json_object_set_new(metadata, "name", json_string(name));
	(void)json_object_set_new(metadata, "namespace", json_string(namespace));
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "coordination.k8s.io/v1", "kind",
			 "Lease", "metadata", metadata, "spec", spec);
}

json_t *lease_body(const struct lease_state *s, enum lease_step step, const char *name,
		   const char *namespace, uint64_t real_us)
{
	const bool renew = step == LEASE_RENEW;
	/* Never decreases, even if somebody has deleted the Lease. */
	const uint64_t transitions = s->seen.transitions + (!renew && s->seen.holder ? 1 : 0);
	json_t *spec = json_pack(
		"{s:s, s:I, s:o, s:o, s:I}", "holderIdentity", s->identity, "leaseDurationSeconds",
		(json_int_t)(s->times.duration_us / USEC_PER_SEC), "acquireTime",
		renew && s->seen.acquired ? json_string(s->seen.acquired) : stamp(real_us),
		"renewTime", stamp(real_us), "leaseTransitions", (json_int_t)transitions);

	return object_of(s, step != LEASE_CREATE, name, namespace, spec);
}

json_t *lease_body_yield(const struct lease_state *s, const char *name, const char *namespace,
			 uint64_t real_us)
{
	json_t *spec = json_pack("{s:s, s:i, s:o, s:o, s:I}", "holderIdentity", "",
				 "leaseDurationSeconds", YIELD_SECONDS, "acquireTime",
				 stamp(real_us), "renewTime", stamp(real_us), "leaseTransitions",
				 (json_int_t)s->seen.transitions);

	return object_of(s, true, name, namespace, spec);
}
