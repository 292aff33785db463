/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_ras_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_ras_answer.h"

#define DIGITS "0123456789"
#define HEX DIGITS "abcdef"

enum {
	LINE_MAX_BYTES = 512,
	NUMBER_DIGITS_MAX = 15,
	GROUPS_MAX = 4096, /* rows of the table */
	COMMS_COLUMN = 1,
	SIZE_COLUMN = 4,
	DECIMAL = 10,
	CLASSES_MAX = 256, /* distinct counts of one function */
	ANY_FUNCTION = 0,  /* for text that counts all functions as one */
	/* Steps over ranks and communicators: bounds the time for untrusted text to a second. */
	STEPS_MAX = 1 << 27,
};

/* What the next lines are about. */
enum part { PART_OTHER, PART_TABLE, PART_INCOMPLETE, PART_STATUS, PART_COUNTS };

struct reader {
	struct hang_ras_answer *a;
	struct hang_ras_comm *comm; /* of the last "#G-N (HASH)"; in a->comms */
	enum part part;
	unsigned line;
	size_t steps;
	size_t sizes[GROUPS_MAX]; /* ranks per communicator, by row of the table */
	size_t n_sizes, n_comms;  /* communicators with more than one rank in it */
	/* Counts: the function, and how many ranks were announced and named for each. */
	size_t function;
	struct {
		int64_t count;
		size_t said, named;
	} classes[CLASSES_MAX];
	size_t n_classes, current; /* of the ranks named next */
	bool *named;		   /* owned; [comm->size] in this part */
	uint8_t state;		   /* from the last "N ranks have status S" */
};

/* --- words of a line --- */

/* The number at `*at`, which moves past it; -1: none. */
static int64_t number(const char **at)
{
	const size_t n = strspn(*at, DIGITS);
	int64_t value;

	if (n == 0 || n > NUMBER_DIGITS_MAX)
		return -1;
	value = strtoll(*at, NULL, DECIMAL);
	*at += n;
	return value;
}

/* What follows `word`; NULL if something else is there. */
static const char *behind(const char *at, const char *word)
{
	return at && starts_with(at, word) ? at + strlen(word) : NULL;
}

/* "GPU 1 (NVML 3) managed by process 77 on node 10.0.0.2" */
static void take_process(const char *at, struct hang_ras_member *m)
{
	int64_t gpu, nvml, pid;
	const char *host;

	at = behind(at, "GPU ");
	gpu = at ? number(&at) : -1;
	nvml = gpu;
	if (gpu >= 0 && behind(at, " (NVML ")) {
		at = behind(at, " (NVML ");
		nvml = number(&at);
		at = behind(at, ")");
	}
	at = behind(at, " managed by process ");
	pid = at ? number(&at) : -1;
	host = behind(at, " on node ");
	if (gpu < 0 || nvml < 0 || pid < 0 || !host || strlen(host) >= sizeof(m->host))
		return;
	m->gpu = nvml;
	m->pid = pid;
	(void)snprintf(m->host, sizeof(m->host), "%s", host);
}

static int state_of(const char *word)
{
	static const struct {
		const char *name;
		enum hang_ras_state state;
	} states[] = {
		{ "RUNNING", HANG_RAS_RUNNING }, { "NOCOMM", HANG_RAS_LEFT },
		{ "INIT", HANG_RAS_UNREADY },	 { "FINALIZE", HANG_RAS_UNREADY },
		{ "ABORT", HANG_RAS_UNREADY },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (starts_with(word, states[i].name))
			return (int)states[i].state;
	}
	return -1;
}

/* --- counts of a function --- */

static int class_of(struct reader *r, int64_t count, struct err *err)
{
	size_t i;

	for (i = 0; i < r->n_classes; i++) {
		if (r->classes[i].count == count)
			return (int)i;
	}
	if (r->n_classes == CLASSES_MAX)
		return err_set(err, E2BIG, "RAS: line %u: more than %d different counts", r->line,
			       CLASSES_MAX);
	r->classes[r->n_classes].count = count;
	r->classes[r->n_classes].said = r->classes[r->n_classes].named = 0;
	return (int)r->n_classes++;
}

static void put_count(struct reader *r, struct hang_ras_member *m, int64_t count)
{
	m->counts[r->function] = count;
	m->counted = true;
	r->named[m->rank] = true;
}

static bool is_missing(const struct hang_ras_member *m)
{
	return m->state == HANG_RAS_LEFT || m->state == HANG_RAS_UNRESPONSIVE;
}

/* The class for which no rank was named; -1: several, or ranks that nobody counted. */
static int class_left(const struct reader *r)
{
	size_t i, present = 0, n_left = 0;
	int left = -1;

	for (i = 0; i < r->n_classes; i++) {
		if (r->classes[i].named == 0) {
			left = (int)i;
			n_left++;
		}
	}
	for (i = 0; i < r->comm->size; i++) {
		const uint32_t place = r->comm->places[i];

		present += !r->named[i] && !(place && is_missing(&r->comm->members[place - 1]));
	}
	return n_left == 1 && r->classes[left].said == present ? left : -1;
}

/* Ranks that were not named have the one remaining count; if several remain, it is unknown. */
static int close_counts(struct reader *r, struct err *err)
{
	struct hang_ras_member *m;
	int64_t rank;
	int left, result = 0;

	if (r->part != PART_COUNTS)
		return 0;
	left = class_left(r);
	for (rank = 0; result == 0 && (size_t)rank < r->comm->size; rank++) {
		if (r->named[rank])
			continue;
		result = hang_ras_answer_member(r->a, r->comm, rank, &m, err);
		if (result < 0 || is_missing(m))
			continue;
		if (left >= 0)
			put_count(r, m, r->classes[left].count);
		else
			m->unclear = true;
	}
	return result;
}

static int spend(struct reader *r, size_t steps, struct err *err)
{
	r->steps += steps;
	return r->steps <= STEPS_MAX
		       ? 0
		       : err_set(err, E2BIG, "RAS: line %u: its counts are larger than any job has",
				 r->line);
}

static int open_counts(struct reader *r, const char *what, struct err *err)
{
	size_t i;

	/* for opening it, for finding who remains and for closing it */
	if (spend(r, 3 * r->comm->size, err) < 0)
		return -E2BIG;
	r->function = ANY_FUNCTION;
	for (i = 0; i < HANG_RAS_FUNCTIONS; i++) {
		if (starts_with(what, hang_ras_functions[i]) &&
		    what[strlen(hang_ras_functions[i])] == ' ')
			r->function = i;
	}
	free(r->named);
	r->named = calloc(r->comm->size, sizeof(*r->named));
	if (!r->named)
		return err_set(err, ENOMEM, "RAS: no memory for %zu ranks", r->comm->size);
	r->n_classes = r->current = 0;
	r->part = PART_COUNTS;
	return 0;
}

/* --- a line --- */

static int take_row(struct reader *r, const char *at, struct err *err)
{
	int64_t column = -1, comms = 0;
	size_t i;

	for (i = 0; i <= SIZE_COLUMN; i++) {
		at += strspn(at, " ");
		column = number(&at);
		if (i == COMMS_COLUMN)
			comms = column;
		if (column >= 0 && *at == '-') { /* ranks per node, as "6-8" */
			at++;
			(void)number(&at);
		}
		if (column < 0) {
			r->part = PART_OTHER;
			return 0;
		}
	}
	if (r->n_sizes == GROUPS_MAX)
		return err_set(err, E2BIG, "RAS: line %u: more than %d groups", r->line, GROUPS_MAX);
	r->sizes[r->n_sizes++] = (size_t)column;
	r->n_comms += column > 1 ? (size_t)comms : 0;
	return 0;
}

static struct hang_ras_comm *find(const struct reader *r, const char *id)
{
	size_t i;

	for (i = r->a->n_comms; i-- > 0;) {
		if (streq(r->a->comms[i].id, id))
			return &r->a->comms[i];
	}
	return NULL;
}

/* "#0-0 (27a079b828ff1a75) MISMATCH" */
static int take_heading(struct reader *r, const char *at, struct err *err)
{
	char id[HANG_RAS_ID_SIZE];
	int64_t group, index;
	size_t n;

	r->part = PART_OTHER;
	r->comm = NULL;
	at++;
	group = number(&at);
	at = behind(at, "-");
	index = at ? number(&at) : -1;
	at = behind(at, " (");
	n = at ? strspn(at, HEX) : 0;
	if (group < 0 || index < 0 || n == 0 || n > NUMBER_DIGITS_MAX + 1 || at[n] != ')')
		return 0;
	if ((size_t)group >= r->n_sizes)
		return err_set(err, EINVAL, "RAS: line %u: group %lld is not in the table", r->line,
			       (long long)group);
	while (n > 1 && *at == '0') { /* as "0x%lx" in the JSON writes it */
		at++;
		n--;
	}
	if (spend(r, r->a->n_comms, err) < 0)
		return -E2BIG;
	(void)snprintf(id, sizeof(id), "0x%.*s", (int)n, at);
	r->comm = find(r, id);
	if (!r->comm)
		return hang_ras_answer_comm(r->a, id, r->sizes[group], &r->comm, err);
	return r->comm->size == r->sizes[group]
		       ? 0
		       : err_set(err, EINVAL, "RAS: line %u: %s has two sizes", r->line, id);
}

static int take_subject(struct reader *r, const char *line, struct err *err)
{
	const char *different = behind(line, "  Communicator ranks have different ");

	if (different && starts_with(different, "status")) {
		r->part = PART_STATUS;
		return 0;
	}
	if (different)
		return open_counts(r, different, err);
	if (starts_with(line, "  Missing communicator data from "))
		r->part = PART_INCOMPLETE;
	return 0;
}

/* "15 ranks have launched up to operation 411": the next ranks named are among them. */
static int take_many(struct reader *r, const char *at, struct err *err)
{
	const int64_t n = number(&at);
	const char *launched = behind(at, " ranks have launched up to operation ");
	const char *status = behind(at, " ranks have status ");
	int64_t count = launched ? number(&launched) : -1;
	int class;

	if (behind(at, " ranks have not launched any operations"))
		count = 0;
	if (r->part == PART_STATUS && status && state_of(status) >= 0)
		r->state = (uint8_t)state_of(status);
	if (r->part != PART_COUNTS || count < 0)
		return 0;
	class = class_of(r, count, err);
	if (class < 0)
		return class;
	r->current = (size_t) class;
	r->classes[class].said += (size_t)n;
	return 0;
}

/* What follows "Rank 9": a count or status of its own, or that it is one of many. */
static int take_count(struct reader *r, struct hang_ras_member *m, const char *at, struct err *err)
{
	const char *launched = behind(at, " has launched up to operation ");
	int64_t count = launched ? number(&launched) : -1;
	int class = (int)r->current;

	if (behind(at, " has not launched any operations"))
		count = 0;
	if (count >= 0)
		class = class_of(r, count, err);
	else if (r->n_classes == 0)
		return 0;
	if (class < 0)
		return class;
	r->classes[class].said += count >= 0;
	r->classes[class].named++;
	put_count(r, m, r->classes[class].count);
	return 0;
}

static int take_rank(struct reader *r, const char *at, struct err *err)
{
	const int64_t rank = number(&at);
	struct hang_ras_member *m;
	const char *process = strstr(at, "-- ");
	const char *status = behind(at, " has status ");
	int result = hang_ras_answer_member(r->a, r->comm, rank, &m, err);

	if (result < 0)
		return err_wrap(err, result, "RAS: line %u", r->line);
	if (process)
		take_process(process + strlen("-- "), m);
	if (behind(at, " reported "))
		m->failed = true;
	if (r->part == PART_INCOMPLETE)
		m->state = HANG_RAS_UNRESPONSIVE;
	else if (r->part == PART_STATUS)
		m->state = status && state_of(status) >= 0 ? (uint8_t)state_of(status) : r->state;
	return r->part == PART_COUNTS ? take_count(r, m, at, err) : 0;
}

static int take_line(struct reader *r, const char *line, struct err *err)
{
	const char *at = behind(line, "  Encountered ");
	int result;

	if (line[0] == '#' || !line[0] || behind(line, "  Communicator ranks have different ")) {
		result = close_counts(r, err);
		r->part = PART_OTHER;
		if (result < 0)
			return result;
	}
	if (line[0] == '#')
		return take_heading(r, line, err);
	if (starts_with(line, "Group     Comms ")) {
		r->part = PART_TABLE;
		return 0;
	}
	if (r->part == PART_TABLE && !starts_with(line, "    #  in group"))
		return take_row(r, line, err);
	if (at) {
		const int64_t n = number(&at);

		r->a->timeouts = n > 0 ? (unsigned)MIN(n, (int64_t)HANG_RAS_MEMBERS_MAX) : 0;
		return 0;
	}
	if (!r->comm)
		return 0;
	if (starts_with(line, "  Rank "))
		return take_rank(r, line + strlen("  Rank "), err);
	if (starts_with(line, "  ") && strchr(DIGITS, line[2]) && line[2])
		return take_many(r, line + 2, err);
	return take_subject(r, line, err);
}

/* The answer came over a socket, so it is not NUL-terminated. */
static void take_version(struct hang_ras_answer *a, const char *at, size_t size)
{
	const size_t n = MIN(size, sizeof(a->version) - 1);

	memcpy(a->version, at, n);
	a->version[n] = '\0';
	a->version[strcspn(a->version, "+ \r\n")] = '\0';
}

static int take_lines(struct reader *r, const char *text, size_t size, struct err *err)
{
	const char *const end = text + size;
	char line[LINE_MAX_BYTES];
	int result = 0;

	while (result == 0 && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const size_t n = (size_t)((newline ? newline : end) - text);

		r->line++;
		/* No relevant line is that long: lines that list devices are truncated. */
		memcpy(line, text, MIN(n, sizeof(line) - 1));
		line[MIN(n, sizeof(line) - 1)] = '\0';
		line[strcspn(line, "\r")] = '\0';
		result = take_line(r, line, err);
		text += n + 1;
	}
	r->a->n_unnamed = r->n_comms > r->a->n_comms ? r->n_comms - r->a->n_comms : 0;
	return result == 0 ? close_counts(r, err) : result;
}

int hang_ras_text_read(const char *text, size_t size, struct hang_ras_answer *a, struct err *err)
{
	static const char first[] = "NCCL version ";
	struct reader *r;
	int result;

	if (size <= strlen(first) || memcmp(text, first, strlen(first)) != 0)
		return err_set(err, EINVAL,
			       "RAS: this is neither its JSON nor its text, which begins "
			       "with \"NCCL version\"");
	r = xcalloc(1, sizeof(*r));
	r->a = a;
	a->text = true;
	take_version(a, text + strlen(first), size - strlen(first));
	result = take_lines(r, text, size, err);
	free(r->named);
	free(r);
	return result;
}
