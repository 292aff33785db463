/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairing_rounds: finds the hosts to blame from the output of probes on real hosts.
 *
 * Reads lines of "NODE SAMPLE" from standard input, a sample of all_reduce.busbw as printed by the
 * probe on that node. Runs the rounds of lib/pairing with them: the result of a group is taken from
 * its samples. Prints the rounds and the blamed hosts; exit status 1 if the samples of a needed
 * group are missing.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/pairing/pairing.h"
#include "lib/report/report.h"

enum { NODES_MAX = 16, RUNS_MAX = 64, ROUNDS_MAX = 16, LINE_MAX_BYTES = 65536 };

/* The result of hosts that ran together: the lowest reported by any of them. */
struct run {
	bool members[NODES_MAX];
	double value;
};

static struct {
	char *names[NODES_MAX];
	size_t n_names;
	struct run runs[RUNS_MAX];
	size_t n_runs;
} seen;

static size_t node_of(const char *name)
{
	size_t i;

	for (i = 0; i < seen.n_names; i++) {
		if (streq(seen.names[i], name))
			return i;
	}
	if (seen.n_names == NODES_MAX)
		return NODES_MAX;
	seen.names[seen.n_names] = xstrdup(name);
	return seen.n_names++;
}

static struct run *find_run(const bool *members)
{
	size_t i;

	for (i = 0; i < seen.n_runs; i++) {
		if (memcmp(seen.runs[i].members, members, sizeof(seen.runs[i].members)) == 0)
			return &seen.runs[i];
	}
	return NULL;
}

static int keep(const char *node, const struct sample *s, struct err *err)
{
	bool members[NODES_MAX] = { false };
	size_t i, at = node_of(node);
	struct run *run;

	if (!streq(s->check, "all_reduce.busbw") || s->state != SAMPLE_MEASURED)
		return err_set(err, EINVAL, "want a measured all_reduce.busbw, not %s", s->check);
	for (i = 0; at < NODES_MAX && s->with && s->with[i]; i++) {
		members[at] = true;
		at = node_of(s->with[i]);
	}
	if (at == NODES_MAX || i == 0)
		return err_set(err, EINVAL, "expected 2 to %d nodes", NODES_MAX);
	members[at] = true;
	run = find_run(members);
	if (!run && seen.n_runs == RUNS_MAX)
		return err_set(err, EINVAL, "more than %d runs", RUNS_MAX);
	if (!run) {
		run = &seen.runs[seen.n_runs++];
		run->value = INFINITY;
		memcpy(run->members, members, sizeof(members));
	}
	run->value = fmin(run->value, s->value);
	return 0;
}

static int read_line(char *line, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct sample s = sample_init();
	char *text = strchr(line, ' ');
	struct jval root;
	int r;

	if (!text)
		return err_set(err, EINVAL, "want NODE SAMPLE");
	*text++ = '\0';
	r = json_parse(text, strlen(text), "sample", &value, err);
	if (r < 0)
		return r;
	root = jval_root(value, "sample");
	r = sample_decode(&root, &s, err);
	if (r == 0)
		r = keep(line, &s, err);
	sample_release(&s);
	return r;
}

static struct pairing_result results[ROUNDS_MAX * NODES_MAX];
static size_t seats[ROUNDS_MAX * NODES_MAX][NODES_MAX];

/* Gives a group of a round the result its hosts had. */
static int play(const struct pairing_round *round, const struct pairing_group *g, size_t n_results)
{
	bool members[NODES_MAX] = { false };
	const struct run *run;
	size_t i;

	printf("group");
	for (i = 0; i < g->n; i++) {
		seats[n_results][i] = round->seats[g->first + i];
		members[round->seats[g->first + i]] = true;
		printf(" %s", seen.names[round->seats[g->first + i]]);
	}
	run = find_run(members);
	if (!run) {
		printf(": not measured\n");
		return -ENOENT;
	}
	printf(" %.6g\n", run->value);
	results[n_results] = (struct pairing_result){ .members = seats[n_results],
						      .n = g->n,
						      .rail = g->rail,
						      .outcome = PAIRING_MEASURED,
						      .value = run->value,
						      .rails = { run->value } };
	return 0;
}

static void tell(const struct pairing_step *step)
{
	size_t i;

	for (i = 0; i < step->n_blames; i++) {
		const struct pairing_blame *b = &step->blames[i];

		printf("%s %s %.3f %zu: %s\n", b->kind == PAIRING_UNDECIDED ? "undecided" : "blame",
		       b->node < seen.n_names ? seen.names[b->node] : "-", b->ratio, b->n_partners,
		       b->words);
	}
}

static int play_rounds(struct err *err)
{
	struct pairing_node nodes[NODES_MAX] = { { .name = NULL } };
	struct pairing_problem problem = {
		.nodes = nodes, .n_nodes = seen.n_names, .n_rails = 1, .results = results
	};
	CLEANUP(freep) struct pairing_step *step = xcalloc(1, sizeof(*step));
	size_t i;
	int r = 0;

	for (i = 0; i < seen.n_names; i++)
		nodes[i] = (struct pairing_node){ .name = seen.names[i], .leaf = { "tor" } };
	while (r == 0 && problem.rounds_made < ROUNDS_MAX) {
		r = pairing_step(&problem, step, err);
		if (r < 0 || step->done)
			break;
		printf("round %zu\n", ++problem.rounds_made);
		for (i = 0; r == 0 && i < step->next.n_groups; i++)
			r = play(&step->next, &step->next.groups[i], problem.n_results++);
	}
	if (r == 0)
		tell(step);
	return r;
}

int main(void)
{
	CLEANUP(freep) char *line = xcalloc(1, LINE_MAX_BYTES);
	struct err err = ERR_INIT;
	int r = 0;

	while (r == 0 && fgets(line, LINE_MAX_BYTES, stdin))
		r = read_line(line, &err);
	if (r == 0)
		r = play_rounds(&err);
	if (r < 0 && err.msg[0])
		(void)fprintf(stderr, "pairing_rounds: %s\n", err.msg);
	while (seen.n_names > 0)
		free(seen.names[--seen.n_names]);
	return r < 0;
}
