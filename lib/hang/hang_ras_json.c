/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_ras_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_ras_answer.h"
#include "lib/hang/hang_ras_version.h"
#include "lib/json/json.h"

#define NAME "RAS"
#define COUNT_MAX 9e15 /* exact as a double */
#define BLANK " \t\r\n"

enum {
	BROKEN_FIRST = 22807,
	BROKEN_LAST = 22809,
	HEAD = 256, /* the version is within this many bytes */
	DEV_DIGITS_MAX = 10,
	DEV_MAX = 1 << 20,
	NCCL_IN_PROGRESS = 7, /* value of ncclResult_t */
};

/* --- missing commas --- */

static bool is_broken_version(const char *text, size_t size)
{
	static const char key[] = "\"nccl_version\": \"";
	char head[HEAD] = "", *value;
	unsigned version;

	memcpy(head, text, MIN(size, sizeof(head) - 1));
	value = strstr(head, key);
	if (!value)
		return false;
	value += strlen(key);
	value[strcspn(value, "\"")] = '\0';
	version = hang_ras_version_number(value);
	return version >= BROKEN_FIRST && version <= BROKEN_LAST;
}

/* Where a comma is missing after the "nvml_dev" at `at`; NULL if none is. */
static const char *missing_comma(const char *at)
{
	const char *digits = at + strspn(at, BLANK), *end;
	size_t n;

	digits += *digits == '-';
	n = strspn(digits, "0123456789");
	end = digits + n;
	if (n == 0 || n > DEV_DIGITS_MAX || strspn(end, BLANK) == 0)
		return NULL;
	return starts_with(end + strspn(end, BLANK), "\"status\"") ? end : NULL;
}

/* Copies `text` (NUL-terminated), adding missing commas; returns how many were added. */
static size_t mend(const char *text, size_t size, struct strbuf *ret)
{
	static const char key[] = "\"nvml_dev\":";
	const char *from = text, *at = text;
	size_t n = 0;

	while ((at = strstr(at, key)) != NULL) {
		const char *comma = missing_comma(at + strlen(key));

		at += strlen(key);
		if (!comma)
			continue;
		(void)strbuf_add(ret, from, (size_t)(comma - from));
		(void)strbuf_puts(ret, ",");
		from = at = comma;
		n++;
	}
	(void)strbuf_add(ret, from, size - (size_t)(from - text));
	return n;
}

static int parse(const char *text, size_t size, struct hang_ras_answer *a, json_t **ret,
		 struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf mended = STRBUF_INIT(2 * HANG_RAS_ANSWER_MAX);
	CLEANUP(freep) char *copy = NULL;
	struct err first = ERR_INIT;
	int r = json_parse(text, size, NAME, ret, &first);

	if (r == 0)
		return 0;
	if (!is_broken_version(text, size) || memchr(text, '\0', size))
		return err_set(err, first.code, "%s", first.msg);
	copy = malloc(size + 1);
	if (!copy)
		return err_set(err, ENOMEM, NAME ": no memory for the answer");
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (mend(copy, size, &mended) == 0 || !strbuf_ok(&mended))
		return err_set(err, first.code, "%s", first.msg);
	r = json_parse(strbuf_text(&mended), mended.len, NAME, ret, err);
	a->mended = r == 0;
	return r;
}

/* --- contents --- */

struct member {
	uint64_t rank;
	double pid, gpu; /* negative: not given */
	char *host;
	json_t *status, *counts;
};

static void member_release(struct member *m)
{
	free(m->host);
	json_decref(m->status);
	json_decref(m->counts);
}

#define AT(name) offsetof(struct member, name)
static const struct jfield member_fields[] = {
	{ "rank", J_U64, AT(rank), J_REQUIRED, 0, HANG_RANKS_MAX },
	{ "host", J_STRING, AT(host), 0 },
	{ "pid", J_REAL, AT(pid), 0, -1, COUNT_MAX },
	{ "nvml_dev", J_REAL, AT(gpu), 0, -1, DEV_MAX },
	{ "status", J_OBJECT, AT(status), 0 },
	{ "collective_counts", J_OBJECT, AT(counts), 0 },
};
#undef AT

static int64_t whole(double value)
{
	return value >= 0 ? (int64_t)value : HANG_UNKNOWN;
}

static bool is_set(const json_t *status, const char *key)
{
	return json_is_true(json_object_get(status, key));
}

static uint8_t state_of(const json_t *status, bool missing)
{
	if (missing && is_set(status, "considered_dead"))
		return HANG_RAS_DEAD;
	if (missing)
		return is_set(status, "unresponsive") ? HANG_RAS_UNRESPONSIVE : HANG_RAS_LEFT;
	/* 0 is ncclSuccess. Without a status it does not count as running. */
	return !status || json_integer_value(json_object_get(status, "init_state")) != 0 ||
			       is_set(status, "finalize_called") ||
			       is_set(status, "destroy_flag") || is_set(status, "abort_flag")
		       ? HANG_RAS_UNREADY
		       : HANG_RAS_RUNNING;
}

/* True for an error after creation, other than being in progress. */
static bool has_failed(const json_t *status)
{
	const json_int_t error = json_integer_value(json_object_get(status, "async_error"));

	return error != 0 && error != NCCL_IN_PROGRESS;
}

static int read_counts(const struct jval *v, const json_t *counts, struct hang_ras_member *m,
		       struct err *err)
{
	size_t i;

	for (i = 0; i < HANG_RAS_FUNCTIONS; i++) {
		const json_t *value = json_object_get(counts, hang_ras_functions[i]);
		const json_int_t n = json_integer_value(value);

		if (!json_is_integer(value) || n < 0 || (double)n > COUNT_MAX)
			return jval_fail(v, err, "collective_counts.%s: expected a whole number",
					 hang_ras_functions[i]);
		m->counts[i] = n;
	}
	m->counted = true;
	return 0;
}

static int read_member(const struct jval *v, struct hang_ras_answer *a, struct hang_ras_comm *comm,
		       bool missing, struct err *err)
{
	CLEANUP(member_release) struct member said = { .pid = -1, .gpu = -1 };
	struct hang_ras_member *m;
	const size_t before = comm->n;
	int r = jval_decode(v, member_fields, ARRAY_SIZE(member_fields), 0, &said, err);

	if (r == 0)
		r = hang_ras_answer_member(a, comm, (int64_t)said.rank, &m, err);
	if (r < 0)
		return r;
	if (comm->n == before)
		return jval_fail(v, err, "rank %llu appears twice", (unsigned long long)said.rank);
	m->pid = whole(said.pid);
	m->gpu = whole(said.gpu);
	if (said.host && strlen(said.host) < sizeof(m->host) && !streq(said.host, "unknown"))
		(void)snprintf(m->host, sizeof(m->host), "%s", said.host);
	m->state = state_of(said.status, missing);
	m->failed = !missing && has_failed(said.status);
	return missing || !said.counts ? 0 : read_counts(v, said.counts, m, err);
}

static int read_members(const struct jval *v, const char *key, struct hang_ras_answer *a,
			struct hang_ras_comm *comm, struct err *err)
{
	const struct jval list = jval_get(v, key);
	size_t i;
	int r = list.value ? jval_need_array(&list, err) : 0;

	for (i = 0; r == 0 && i < json_array_size(list.value); i++) {
		const struct jval item = jval_at(&list, i);

		r = read_member(&item, a, comm, streq(key, "missing_ranks"), err);
	}
	return r;
}

static int read_comm(const struct jval *v, struct hang_ras_answer *a, struct err *err)
{
	const char *hash = json_string_value(json_object_get(v->value, "hash"));
	const char *more = json_string_value(json_object_get(v->value, "secondary_hash"));
	const json_int_t size = json_integer_value(json_object_get(v->value, "size"));
	struct hang_ras_comm *comm;
	char id[HANG_RAS_ID_SIZE];
	int n, r;

	if (!hash)
		return jval_fail(v, err, "hash: missing");
	if (size == 0 && json_is_integer(json_object_get(v->value, "size")))
		return 0; /* printed like this by 2.29.7 during creation (nccl issue 2346) */
	if (size <= 0)
		return jval_fail(v, err, "size: expected a whole number");
	n = snprintf(id, sizeof(id), "%s%s%s", hash, more ? ":" : "", more ? more : "");
	if (n < 0 || (size_t)n >= sizeof(id))
		return jval_fail(v, err, "hash: too long");
	r = hang_ras_answer_comm(a, id, (uint64_t)size, &comm, err);
	if (r == 0)
		r = read_members(v, "ranks", a, comm, err);
	return r == 0 ? read_members(v, "missing_ranks", a, comm, err) : r;
}

int hang_ras_json_read(const char *text, size_t size, struct hang_ras_answer *a, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root, comms;
	const char *version;
	json_int_t timeouts;
	size_t i;
	int r = parse(text, size, a, &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, NAME);
	comms = jval_get(&root, "communicators");
	version = json_string_value(json_object_get(doc, "nccl_version"));
	r = jval_need_object(&root, err);
	if (r == 0)
		r = jval_need_array(&comms, err);
	if (r < 0)
		return r;
	(void)snprintf(a->version, sizeof(a->version), "%.*s",
		       version ? (int)strcspn(version, "+") : 0, version ? version : "");
	timeouts =
		json_integer_value(json_object_get(json_object_get(doc, "ras"), "timeouts_count"));
	a->timeouts = timeouts > 0 ? (unsigned)MIN(timeouts, (json_int_t)HANG_RAS_MEMBERS_MAX) : 0;
	for (i = 0; r == 0 && i < json_array_size(comms.value); i++) {
		const struct jval item = jval_at(&comms, i);

		r = read_comm(&item, a, err);
	}
	return r;
}
