/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/trace_job.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

enum { NAMED_MAX = 4 };

/* Workers that alone cause this share of the loss are named. */
#define NAMED_SHARE 0.5
/* Hosts that are late by less than this share of a step are not mentioned. */
#define LATE_SHARE 0.01
/* A drift over the whole trace is mentioned from this share of a step on. */
#define DRIFT_SHARE 0.05

static const struct trace_worker *worker_of(const struct attribution *a, uint32_t w)
{
	return &a->trace->job.workers[w];
}

static const char *node_of(const struct attribution *a, uint32_t w)
{
	return a->trace->job.nodes[worker_of(a, w)->node];
}

size_t words_culprits(const struct attribution *a, uint32_t *ret)
{
	const struct guilty_set *guilty = a->cause.guilty;
	const struct slowdown *s = &a->slowdown;
	size_t i, n = 0;

	for (i = 0; guilty && i < guilty->n; i++) {
		uint32_t w = guilty->workers[i];

		if (i == 0 || s->exact[w] - 1 >= NAMED_SHARE * (s->s - 1))
			ret[n++] = w;
	}
	return n;
}

static double percent(double share)
{
	return 100 * share;
}

/* "dp 3 stage 2 (rank 22 on n002), dp ..." */
static void name_workers(const struct attribution *a, const uint32_t *workers, size_t n,
			 struct strbuf *text)
{
	uint32_t pp = a->trace->job.pp;
	size_t i;

	for (i = 0; i < n && i < NAMED_MAX; i++)
		(void)strbuf_printf(text, "%sdp %u stage %u (rank %d on %s)",
				    i == 0	 ? ""
				    : i + 1 == n ? " and "
						 : ", ",
				    workers[i] / pp, workers[i] % pp,
				    worker_of(a, workers[i])->rank, node_of(a, workers[i]));
	if (n > NAMED_MAX)
		(void)strbuf_printf(text, " and %zu more", n - NAMED_MAX);
}

/* The nodes of workers, without duplicates. */
static void name_nodes(const struct attribution *a, const uint32_t *workers, size_t n,
		       struct strbuf *text)
{
	size_t i, j, named = 0;

	for (i = 0; i < n && named < NAMED_MAX; i++) {
		for (j = 0; j < i; j++) {
			if (worker_of(a, workers[i])->node == worker_of(a, workers[j])->node)
				break;
		}
		if (j == i)
			(void)strbuf_printf(text, "%s%s", named++ ? ", " : "",
					    node_of(a, workers[i]));
	}
}

static void tell_loss(const struct attribution *a, struct strbuf *text)
{
	const struct interval *s = &a->s;

	(void)strbuf_printf(text, "The job is %.2f ", s->value);
	if (isfinite(s->low))
		(void)strbuf_printf(text, "[%.2f, %.2f] ", s->low, s->high);
	(void)strbuf_printf(
		text,
		"times as slow as it would be without stragglers: %.0f %% of its time is lost. ",
		percent(1 - 1 / s->value));
}

/* Percent, rounded to a tenth; never "-0.0". */
static double tenths(double share)
{
	return round(10 * percent(share)) / 10 + 0.0;
}

/* "8.1 % [7.0 %, 9.2 %]" */
static void tell_percent(const struct interval *interval, struct strbuf *text)
{
	(void)strbuf_printf(text, "%.1f %%", tenths(interval->value));
	if (isfinite(interval->low))
		(void)strbuf_printf(text, " [%.1f %%, %.1f %%]", tenths(interval->low),
				    tenths(interval->high));
}

/* "gpu-17 (dp 3 stage 1, ranks 56 to 63)"; without a name "dp 3 stage 1 (ranks 56 to 63)". */
static void name_suspect(const struct attribution *a, const struct suspect *suspect,
			 struct strbuf *text)
{
	uint32_t pp = a->trace->job.pp;

	if (suspect->node >= 0) {
		CLEANUP(freep) char *name = utf8_clean(a->trace->job.nodes[suspect->node]);

		(void)strbuf_printf(text, "%s (dp %u stage %u, ", name, suspect->worst / pp,
				    suspect->worst % pp);
	} else {
		(void)strbuf_printf(text, "dp %u stage %u (", suspect->worst / pp,
				    suspect->worst % pp);
	}
	if (suspect->first_rank == suspect->last_rank)
		(void)strbuf_printf(text, "rank %" PRId64 ")", suspect->first_rank);
	else
		(void)strbuf_printf(text, "ranks %" PRId64 " to %" PRId64 ")", suspect->first_rank,
				    suspect->last_rank);
}

static void name_suspects(const struct attribution *a, struct strbuf *text)
{
	size_t i, n = a->suspects.n;

	for (i = 0; i < n; i++) {
		(void)strbuf_puts(text, i == 0 ? "" : i + 1 == n ? " and " : ", ");
		name_suspect(a, &a->suspects.list[i], text);
	}
}

static void tell_too_few(const struct attribution *a, struct strbuf *text)
{
	(void)strbuf_printf(
		text, "There are too few steps to blame anybody: %zu were recorded, about %zu are needed. ",
		a->trace->n_steps, a->suspects.steps_needed);
}

/* The gain of replacing them and the advice, or why nothing should be done. */
static void tell_replacing(const struct attribution *a, struct strbuf *text)
{
	const struct suspects *s = &a->suspects;
	const char *them = s->n > 1 ? "them" : "it";

	if (s->counts) {
		(void)strbuf_printf(text, "With %s at the pace of the others, a step would be ",
				    them);
		tell_percent(&s->gain, text);
		(void)strbuf_puts(text, " shorter. ");
	} else if (s->n && !s->identifiable) {
		(void)strbuf_puts(text, "No other host does the same work, and a host with more "
					"to do looks like a slow one: test it before you replace "
					"it. ");
	} else if (s->n) {
		(void)strbuf_puts(text, "No host stands out: replacing ");
		name_suspects(a, text);
		(void)strbuf_puts(text, " would make a step ");
		tell_percent(&s->gain, text);
		(void)strbuf_puts(text, " shorter. ");
	}
}

static void tell_rejected(const struct attribution *a, const uint32_t *culprits UNUSED,
			  size_t n UNUSED, struct strbuf *text)
{
	const struct trace_job *job = &a->trace->job;
	const struct slowdown *s = &a->slowdown;
	size_t worst = 0, i;

	(void)strbuf_printf(
		text,
		"The trace does not add up: a step takes %.3g s as it was recorded and %.3g s by "
		"its operations, %.0f %% apart, where at most %.0f %% is allowed. Something that "
		"is not recorded makes workers wait, such as data loading. ",
		s->recorded, s->simulated, percent(s->discrepancy), percent(CAUSE_DISCREPANCY_MAX));
	for (i = 1; i < job->n_nodes; i++) {
		if (a->hints.nodes[i].above > a->hints.nodes[worst].above)
			worst = i;
	}
	if (a->hints.nodes[worst].above > LATE_SHARE * s->recorded)
		(void)strbuf_printf(text,
				    "Node %s starts its operations latest: %.3g s a step later "
				    "than its "
				    "peers. ",
				    job->nodes[worst], a->hints.nodes[worst].above);
	(void)strbuf_puts(
		text, "No host can be blamed from it; look at what runs between the operations. ");
}

static void tell_none(const struct attribution *a, const uint32_t *culprits UNUSED, size_t n UNUSED,
		      struct strbuf *text)
{
	(void)strbuf_printf(text,
			    "Nothing slows this job noticeably: without stragglers its steps would "
			    "be %.1f %% shorter. ",
			    percent(MAX(1 - 1 / a->slowdown.s, 0)));
}

static void tell_gain(double share, const char *with, struct strbuf *text)
{
	(void)strbuf_printf(text, "%s %.0f %% of the loss would disappear. ", with,
			    percent(MIN(MAX(share, 0), 1)));
}

static void tell_worker(const struct attribution *a, const uint32_t *culprits, size_t n,
			struct strbuf *text)
{
	tell_loss(a, text);
	if (!a->suspects.enough)
		return;
	(void)strbuf_printf(
		text, "%s slow at computing: ", n > 1 ? "These workers are" : "One worker is");
	name_workers(a, culprits, n, text);
	(void)strbuf_puts(text, ". ");
	tell_replacing(a, text);
	if (!a->suspects.counts)
		return;
	(void)strbuf_puts(text, "Take out of service and test ");
	name_nodes(a, culprits, n, text);
	(void)strbuf_puts(
		text,
		", with all its GPUs: the tensor-parallel peers of a slow rank look as slow. ");
}

static void tell_node(const struct attribution *a, const uint32_t *culprits, size_t n,
		      struct strbuf *text)
{
	tell_loss(a, text);
	if (!a->suspects.enough)
		return;
	(void)strbuf_printf(text, "Node %s computes slowly: all slow workers are on it, ",
			    node_of(a, culprits[0]));
	name_workers(a, culprits, n, text);
	(void)strbuf_puts(text, ". ");
	tell_replacing(a, text);
	if (a->suspects.counts)
		(void)strbuf_printf(text, "Take %s out of service and test it. ",
				    node_of(a, culprits[0]));
}

/* Transfers are charged to both ends: the other one is a neighbour in the pipeline. */
static void tell_link(const struct attribution *a, const uint32_t *culprits, size_t n,
		      struct strbuf *text)
{
	uint32_t pp = a->trace->job.pp, w = culprits[0], stage = w % pp;

	tell_loss(a, text);
	if (!a->suspects.enough)
		return;
	(void)strbuf_puts(text, "Transfers are slow, computing is not: those of ");
	name_workers(a, culprits, n, text);
	(void)strbuf_puts(text, ". ");
	tell_gain(a->cause.guilty->share, "With these transfers as fast as the others", text);
	(void)strbuf_printf(text, "Test the links of %s to the neighbouring stages", node_of(a, w));
	if (stage > 0)
		(void)strbuf_printf(text, ", on %s", node_of(a, w - 1));
	if (stage + 1 < pp)
		(void)strbuf_printf(text, "%s on %s", stage > 0 ? " and" : ",", node_of(a, w + 1));
	(void)strbuf_puts(text, ". ");
}

static void tell_stage(const struct attribution *a, const uint32_t *culprits UNUSED,
		       size_t n UNUSED, struct strbuf *text)
{
	tell_loss(a, text);
	(void)strbuf_printf(text, "The last stage (%u) has more to do than the others. ",
			    a->trace->job.pp - 1);
	tell_gain(a->slowdown.last_stage.share_without, "Without that", text);
	(void)strbuf_puts(text, "Move layers from it to earlier stages; no host is at fault. ");
}

static void tell_seqlen(const struct attribution *a, const uint32_t *culprits UNUSED,
			size_t n UNUSED, struct strbuf *text)
{
	tell_loss(a, text);
	(void)strbuf_printf(
		text,
		"Micro-batches differ in work: their forward and backward times rise and fall "
		"together (r = %.2f), as with sequences of different lengths. ",
		a->slowdown.balance.correlation);
	tell_gain(a->slowdown.levelled, "Spread evenly", text);
	(void)strbuf_puts(
		text, "Balance the lengths over micro-batches and replicas; no host is at fault. ");
}

static void tell_gc(const struct attribution *a, const uint32_t *culprits UNUSED, size_t n UNUSED,
		    struct strbuf *text)
{
	const struct balance *balance = &a->slowdown.balance;

	tell_loss(a, text);
	(void)strbuf_printf(
		text,
		"Single forward passes are held up, %zu on %zu workers, and their backward passes "
		"are not: pauses of the Python garbage collector look like this. ",
		balance->n_pauses, balance->n_paused);
	tell_gain(a->slowdown.pauses, "Without them", text);
	(void)strbuf_puts(text,
			  "Collect garbage in the same step on all workers; no host is at fault. ");
}

/* The type of communication with the largest cost. */
static const char *worst_transfer(const struct slowdown *s)
{
	enum optype type, worst = OPTYPE_N;

	for (type = 0; type < OPTYPE_N; type++) {
		if (!optype_is_communication(type) || isnan(s->types[type]))
			continue;
		if (worst == OPTYPE_N || s->types[type] > s->types[worst])
			worst = type;
	}
	return worst == OPTYPE_N ? "none" : optype_reported(worst);
}

static void tell_comm(const struct attribution *a, const uint32_t *culprits UNUSED, size_t n UNUSED,
		      struct strbuf *text)
{
	tell_loss(a, text);
	(void)strbuf_printf(text, "Communication as a whole is slow at times, most of all %s. ",
			    worst_transfer(&a->slowdown));
	tell_gain(a->slowdown.comm, "At its usual pace", text);
	(void)strbuf_puts(text, "Look at the network: congestion, and who else uses it. ");
}

static void tell_unknown(const struct attribution *a, const uint32_t *culprits UNUSED,
			 size_t n UNUSED, struct strbuf *text)
{
	tell_loss(a, text);
	(void)strbuf_puts(
		text,
		"No single cause explains half of that: neither some "
		"workers, the last stage, the "
		"lengths of sequences, pauses nor communication. The timeline (-o timeline) shows "
		"where the time goes. ");
}

enum actor { ACTOR_NOBODY, ACTOR_OPERATOR, ACTOR_OWNER };

static const struct {
	enum actor actor;
	void (*tell)(const struct attribution *a, const uint32_t *culprits, size_t n,
		     struct strbuf *text);
} labels[CAUSE_N] = {
	[CAUSE_REJECTED] = { ACTOR_OWNER, tell_rejected },
	[CAUSE_NONE] = { ACTOR_NOBODY, tell_none },
	[CAUSE_WORKER] = { ACTOR_OPERATOR, tell_worker },
	[CAUSE_NODE] = { ACTOR_OPERATOR, tell_node },
	[CAUSE_LINK] = { ACTOR_OPERATOR, tell_link },
	[CAUSE_STAGE] = { ACTOR_OWNER, tell_stage },
	[CAUSE_SEQLEN] = { ACTOR_OWNER, tell_seqlen },
	[CAUSE_GC] = { ACTOR_OWNER, tell_gc },
	[CAUSE_COMM] = { ACTOR_OPERATOR, tell_comm },
	[CAUSE_UNKNOWN] = { ACTOR_OWNER, tell_unknown },
};

/* The primary label, but link rather than comm: which transfers are slow says more. */
static enum cause_label told_label(const struct attribution *a)
{
	if (a->cause.primary == CAUSE_COMM && cause_has(&a->cause, CAUSE_LINK))
		return CAUSE_LINK;
	return a->cause.primary;
}

static void tell_beside(const struct attribution *a, enum cause_label told, struct strbuf *text)
{
	size_t i, n = 0;

	for (i = 0; i < a->cause.n_labels; i++) {
		if (a->cause.labels[i] != told)
			(void)strbuf_printf(text, "%s%s", n++ ? ", " : "Other labels: ",
					    cause_name(a->cause.labels[i]));
	}
	if (n)
		(void)strbuf_puts(text, ". ");
}

static void tell_quality(const struct attribution *a, struct strbuf *text)
{
	const struct trace *trace = a->trace;
	double drift = a->hints.step_time_slope * (double)trace->n_steps;

	if (fabs(drift) > DRIFT_SHARE * a->slowdown.recorded)
		(void)strbuf_printf(text, "Steps get %s from first to last, by %.2g s. ",
				    drift > 0 ? "longer" : "shorter", fabs(drift));
	if (trace->n_dropped)
		(void)strbuf_printf(
			text, "%zu of %zu steps were left out: operations are missing from them. ",
			trace->n_dropped, trace->n_dropped + trace->n_steps);
}

/* Does the label itself name slow hosts? */
static bool names_hosts(enum cause_label label)
{
	return label == CAUSE_WORKER || label == CAUSE_NODE || label == CAUSE_LINK;
}

/* Suspects that no label names: below the labels' threshold, or besides another cause. */
static void tell_suspects(const struct attribution *a, enum cause_label label, struct strbuf *text)
{
	if (names_hosts(label) || !a->suspects.counts)
		return;
	(void)strbuf_puts(text, label == CAUSE_NONE ? "But " : "Beside that ");
	name_suspects(a, text);
	(void)strbuf_printf(text, " %s slower than others with the same work. ",
			    a->suspects.n > 1 ? "are" : "is");
	tell_replacing(a, text);
	(void)strbuf_puts(text, a->suspects.n > 1 ? "Test them. " : "Test it. ");
}

static enum actor actor_of(const struct attribution *a, enum cause_label label)
{
	if (a->suspects.counts)
		return ACTOR_OPERATOR;
	if (names_hosts(label) && !a->suspects.enough)
		return ACTOR_NOBODY;
	return labels[label].actor;
}

void words_write(const struct attribution *a, struct strbuf *text)
{
	CLEANUP(freep)
	uint32_t *culprits = xcalloc((size_t)a->trace->job.dp * a->trace->job.pp, sizeof(*culprits));
	enum cause_label label = told_label(a);
	size_t n = words_culprits(a, culprits);

	labels[label].tell(a, culprits, n, text);
	if (label != CAUSE_REJECTED && !a->suspects.enough)
		tell_too_few(a, text);
	tell_suspects(a, label, text);
	if (!names_hosts(label) || a->suspects.enough)
		tell_beside(a, label, text);
	tell_quality(a, text);
	(void)strbuf_puts(text, words_acts(a));
}

const char *words_acts(const struct attribution *a)
{
	static const char *const actors[] = {
		[ACTOR_NOBODY] = "Nobody needs to act.",
		[ACTOR_OPERATOR] = "Who should act: the operator of the cluster.",
		[ACTOR_OWNER] = "Who should act: the owner of the job.",
	};

	return actors[actor_of(a, told_label(a))];
}

/* For a single host: its speed here, and in its own tests. */
static void say_speed(const struct suspects *s, struct strbuf *text)
{
	if (s->n != 1 || s->transfers || isnan(s->list[0].now) || isnan(s->list[0].tested))
		return;
	(void)strbuf_printf(
		text,
		" It computes at %.0f %% of what hosts like it usually reach; in its own "
		"tests it reached %.0f %%.",
		100 * s->list[0].now, 100 * s->list[0].tested);
}

static void say_suspects(const struct attribution *a, struct strbuf *text)
{
	const struct suspects *s = &a->suspects;

	name_suspects(a, text);
	(void)strbuf_printf(text, " %s the job by %s: with %s at the pace of the others, a step is ",
			    s->n > 1 ? "slow" : "slows", s->transfers ? "transfers" : "computing",
			    s->n > 1 ? "them" : "it");
	tell_percent(&s->gain, text);
	(void)strbuf_puts(text, " shorter.");
	say_speed(s, text);
}

/* For a label that names hosts, without a suspect that counts. */
static void say_unclear(const struct attribution *a, struct strbuf *text)
{
	const struct suspects *s = &a->suspects;

	if (s->n == 0) {
		(void)strbuf_puts(text, "Nobody is to blame: there is no other host to compare "
					"with.");
		return;
	}
	(void)strbuf_puts(text, "Nobody is to blame: ");
	if (!s->identifiable) {
		(void)strbuf_puts(text, "no other host does the same work as ");
		name_suspects(a, text);
		(void)strbuf_puts(text, ".");
		return;
	}
	(void)strbuf_puts(text, "no host stands out, and replacing ");
	name_suspects(a, text);
	(void)strbuf_puts(text, " would make a step ");
	tell_percent(&s->gain, text);
	(void)strbuf_puts(text, " shorter.");
}

static const char *say_label(enum cause_label label)
{
	static const char *const says[CAUSE_N] = {
		[CAUSE_REJECTED] = "Nobody can be blamed: the trace does not add up.",
		[CAUSE_NONE] = "Nobody is to blame: nothing slows the job noticeably.",
		[CAUSE_STAGE] = "No host is to blame: the last stage has more to do than the "
				"others.",
		[CAUSE_SEQLEN] = "No host is to blame: micro-batches differ in work, as with "
				 "sequences of different lengths.",
		[CAUSE_GC] = "No host is to blame: single forward passes are held up, as by a "
			     "garbage collector.",
		[CAUSE_COMM] = "No host is to blame: communication as a whole is slow at times.",
		[CAUSE_UNKNOWN] = "No host is to blame: no single cause explains half of the "
				  "loss.",
	};

	return says[label];
}

void words_sentence(const struct attribution *a, struct strbuf *text)
{
	enum cause_label label = told_label(a);

	if (a->suspects.counts)
		say_suspects(a, text);
	else if (label != CAUSE_REJECTED && !a->suspects.enough)
		(void)strbuf_printf(text,
				    "There are too few steps to blame anybody: %zu were recorded, "
				    "about %zu are needed.",
				    a->trace->n_steps, a->suspects.steps_needed);
	else if (names_hosts(label))
		say_unclear(a, text);
	else
		(void)strbuf_puts(text, say_label(label));
}
