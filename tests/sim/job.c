/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/host_speeds.h"
#include "controller/job/job_speeds.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/sim/job_window.h"
#include "tests/sim/sim.h"

#define AGAIN_US (10 * USEC_PER_MIN) /* retry of a job that found no room */
#define STALE_US USEC_PER_HOUR

enum {
	OWN_OFTEN = 4,	/* windows of a run that slows itself, before ... */
	OWN_SELDOM = 6, /* ... each of so many times the usual distance */
	PAIR = 2,
};

/* The fraction of large models' hosts that jobs use. */
static const double fullness = 2.0 / 3;

static const int shapes[][2] = { { 8, 1 },  { 4, 2 }, { 16, 1 }, { 8, 2 }, { 4, 4 },
				 { 16, 2 }, { 8, 4 }, { 16, 4 }, { 8, 8 } };

/* --- creating jobs --- */

static size_t size_of(size_t shape)
{
	return (size_t)(shapes[shape][0] * shapes[shape][1]);
}

/* Draws a shape that has `room`; small ones are more likely (by the square). The first if none has. */
static size_t draw_shape(struct random *chance, const struct job_plan *plan, size_t room)
{
	double weights[ARRAY_SIZE(shapes)] = { 0 }, all = 0, lot;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		const size_t n = size_of(i);

		if (n >= plan->least && n <= plan->most && n <= room)
			weights[i] = 1 / ((double)n * (double)n);
		all += weights[i];
	}
	lot = random_unit(chance) * all;
	for (i = 0; i + 1 < ARRAY_SIZE(shapes) && lot > weights[i]; i++)
		lot -= weights[i];
	return all > 0 ? i : 0;
}

/* Returns the model with the most room. */
static size_t roomiest(const double *room, size_t models)
{
	size_t best = 0, i;

	for (i = 1; i < models; i++)
		best = room[i] > room[best] ? i : best;
	return best;
}

static void make(struct sim *s, size_t number, double *room)
{
	const struct job_plan *plan = &s->faults->jobs;
	const struct world *world = &s->faults->world;
	const size_t model = roomiest(room, world->models);
	struct sim_job *job = &s->jobs.list[number];
	size_t shape;

	*job = (struct sim_job){ .number = number, .forged = JOB_NOBODY };
	(void)snprintf(job->name, sizeof(job->name), "research/job-%zu", number);
	job->chance =
		random_seeded(s->options->seed ^ (uint64_t)(number + 1) << 40 ^ UINT64_C(0x10b5));
	(void)random_next(&job->chance);
	shape = draw_shape(&job->chance, plan, room[model] > 0 ? (size_t)room[model] : 0);
	job->dp = shapes[shape][0];
	job->pp = shapes[shape][1];
	job->n = size_of(shape);
	job->of = world_hosts_of(world, s->options->nodes, model, &job->first);
	room[model] -= (double)job->n;
	job->next_us = s->now_us + (uint64_t)(random_unit(&job->chance) * (double)plan->rest_us);
}

void job_begin(struct sim *s)
{
	double room[WORLD_MODELS_MAX];
	size_t i, ignored;

	if (s->faults->jobs.count == 0)
		return;
	s->jobs.n = s->faults->jobs.count;
	s->jobs.list = xcalloc(s->jobs.n, sizeof(*s->jobs.list));
	s->jobs.of_host = xcalloc(s->options->nodes, sizeof(*s->jobs.of_host));
	s->jobs.moved = true;
	for (i = 0; i < s->faults->world.models; i++)
		room[i] = fullness *
			  (double)world_hosts_of(&s->faults->world, s->options->nodes, i, &ignored);
	for (i = 0; i < s->jobs.n; i++)
		make(s, i, room);
	job_loop_open(s);
	job_grade_begin(s);
	job_waits_begin(&s->jobs.waits, s->options->nodes);
}

void job_release(struct sim *s)
{
	size_t i;

	for (i = 0; i < s->jobs.n; i++)
		job_loop_release(&s->jobs.list[i].loop);
	job_loop_close(s);
	job_grade_release(&s->jobs.grade);
	job_waits_release(&s->jobs.waits);
	free(s->jobs.list);
	free(s->jobs.of_host);
	s->jobs = (struct sim_jobs){ .n = 0 };
}

bool job_is_on(const struct sim *s, size_t host)
{
	return s->jobs.of_host[host] != 0;
}

/* --- placement --- */

/* A host that lost a GPU gets no job. */
static bool is_free(const struct sim *s, size_t host)
{
	return !job_is_on(s, host) && s->agents[host].node->out == 0 &&
	       !host_has(&s->hosts[host], FAULT_DYING_GPU, s->now_us) &&
	       !host_has(&s->hosts[host], FAULT_SLOW_JOB, s->now_us);
}

static bool is_slow(const struct sim *s, size_t host)
{
	return host_has(&s->hosts[host], FAULT_SLOW_GPU, s->now_us) ||
	       host_has(&s->hosts[host], FAULT_SLOW_HOST, s->now_us);
}

static void take(struct sim *s, struct sim_job *job, size_t worker, size_t host)
{
	job->hosts[worker] = host;
	s->jobs.of_host[host] = job->number + 1;
}

static void leave(struct sim *s, const struct sim_job *job)
{
	size_t i;

	for (i = 0; i < s->options->nodes; i++) {
		if (s->jobs.of_host[i] == job->number + 1)
			s->jobs.of_host[i] = 0;
	}
	s->jobs.moved = true;
}

/* Replaces two workers' hosts by slow ones. Returns whether there were two. */
static bool take_pair(struct sim *s, struct sim_job *job, bool *placed)
{
	size_t slow[PAIR], n = 0, i;

	for (i = job->first; i < job->first + job->of && n < PAIR; i++) {
		if (is_free(s, i) && is_slow(s, i))
			slow[n++] = i;
	}
	for (i = 0; n == PAIR && i < PAIR; i++) {
		const size_t worker = (random_below(&job->chance, job->n / 2)) * 2 + i;

		take(s, job, worker, slow[i]);
		placed[worker] = true;
	}
	return n == PAIR;
}

/* Collects the free hosts of its model in random order. Returns how many. */
static size_t shuffle_free(struct sim *s, struct sim_job *job, size_t *ret)
{
	size_t n = 0, i, j, other;

	for (i = job->first; i < job->first + job->of; i++) {
		if (is_free(s, i))
			ret[n++] = i;
	}
	for (i = n; i > 1; i--) {
		j = random_below(&job->chance, i);
		other = ret[j];
		ret[j] = ret[i - 1];
		ret[i - 1] = other;
	}
	return n;
}

/* Places all workers. Returns false, and places none, if there is no room. */
static bool place(struct sim *s, struct sim_job *job, bool *ret_pair)
{
	const struct job_plan *plan = &s->faults->jobs;
	CLEANUP(freep) size_t *others = xcalloc(job->of + 1, sizeof(*others));
	bool placed[JOB_PLAN_HOSTS_MAX] = { false };
	size_t n, next = 0, i;

	*ret_pair = random_unit(&job->chance) < plan->pair && take_pair(s, job, placed);
	for (i = 0; i < job->n; i++) {
		const bool stays = job->run > 0 && random_unit(&job->chance) >= plan->move;

		if (!placed[i] && stays && is_free(s, job->before[i])) {
			take(s, job, i, job->before[i]);
			placed[i] = true;
		}
	}
	n = shuffle_free(s, job, others);
	for (i = 0; i < job->n; i++) {
		if (placed[i])
			continue;
		if (next == n) {
			leave(s, job);
			return false;
		}
		take(s, job, i, others[next++]);
	}
	return true;
}

/* Draws the faults of the run and of its windows. */
static void draw_dirt(struct sim *s, struct sim_job *job)
{
	static const char *const own[] = { "sequences", "pauses", "last-stage" };
	const struct job_plan *plan = &s->faults->jobs;
	/* Only a pipeline can have a slow last stage or pauses. */
	const size_t kinds = job->pp > 1 ? ARRAY_SIZE(own) : 1;

	job->own = random_unit(&job->chance) < plan->own ? own[random_below(&job->chance, kinds)]
							 : NULL;
	job->stale = random_unit(&job->chance) < plan->stale && job->run > 1;
	job->forged = random_unit(&job->chance) < plan->lie
			      ? job->hosts[random_below(&job->chance, job->n)]
			      : JOB_NOBODY;
}

static void start(struct sim *s, struct sim_job *job)
{
	const struct job_plan *plan = &s->faults->jobs;
	const double length = 0.5 + random_unit(&job->chance);
	bool pair = false;

	job->next_us = s->now_us + AGAIN_US;
	if (!place(s, job, &pair))
		return;
	job->runs = true;
	job->run++;
	job->sent = 0;
	job->began_us = s->now_us;
	job->ends_us = s->now_us + (uint64_t)(length * (double)plan->run_us);
	job->window_us = s->now_us + plan->every_us;
	draw_dirt(s, job);
	s->jobs.moved = true;
	job_grade_run(s, job, pair);
}

/* Has the run ended, or one of its hosts lost a GPU? */
static bool is_over(const struct sim *s, const struct sim_job *job)
{
	size_t i;

	for (i = 0; i < job->n; i++) {
		if (host_has(&s->hosts[job->hosts[i]], FAULT_DYING_GPU, s->now_us))
			return true;
	}
	return job->ends_us <= s->now_us;
}

static void end(struct sim *s, struct sim_job *job)
{
	const struct job_plan *plan = &s->faults->jobs;
	size_t i;

	job->runs = false;
	job->next_us =
		s->now_us + (uint64_t)((0.5 + random_unit(&job->chance)) * (double)plan->rest_us);
	memcpy(job->before, job->hosts, sizeof(job->before));
	leave(s, job);
	job_grade_ended(s, job);
	for (i = 0; i < job->n; i++) {
		if (random_unit(&job->chance) >= plan->boot)
			continue;
		host_boot(&s->hosts[job->hosts[i]], &s->faults->noise);
		s->agents[job->hosts[i]].quiet = false; /* its next report has the new state */
	}
}

/* --- their windows --- */

/* Gathers the tested speeds of all hosts, as often as the controller does. */
static void gather_speeds(struct sim *s)
{
	if (s->now_us < s->speeds_us)
		return;
	map_release(&s->speeds, NULL);
	host_speeds_find(&s->baselines, &s->speeds);
	s->speeds_us = s->now_us + JOB_SPEEDS_FRESH_US;
}

/* Sets a host's tested speed. */
static void look_up(const struct sim *s, const char *name, size_t i, struct job_window_case *ret)
{
	const struct host_speed *known = map_find(&s->speeds, name);

	if (!known)
		return;
	ret->tested[i] = known->speed;
	silicon_widen(&ret->good, &known->good);
}

static void look(const struct sim *s, const struct sim_job *job, struct job_window_case *ret)
{
	size_t i;

	*ret = (struct job_window_case){ .dp = job->dp,
					 .pp = job->pp,
					 .own = job->own,
					 .min_gain = s->rules.policy.jobs.min_gain,
					 .share = s->rules.policy.jobs.share };
	ret->seed = s->options->seed ^ (uint64_t)(job->number + 1) << 40 ^
		    (uint64_t)job->run << 20 ^ job->sent;
	for (i = 0; i < job->n; i++) {
		struct random lot = random_seeded(ret->seed ^ (uint64_t)(i + 1) << 52);

		(void)random_next(&lot);
		ret->speeds[i] = host_speed(&s->hosts[job->hosts[i]], s->faults, s->options->seed,
					    s->now_us, &lot);
		if (random_unit(&lot) < s->faults->jobs.dip)
			ret->speeds[i] *= 1 - (0.05 + 0.10 * random_unit(&lot));
		look_up(s, s->hosts[job->hosts[i]].name, i, ret);
	}
}

/* Returns a forged window that always blames the same host. */
static struct job_window_result forge(const struct sim_job *job)
{
	struct job_window_result ret = { .n = 1, .class = BLAME_COMPUTE, .slowdown = 1.3 };

	ret.list[0] = (struct job_window_suspect){ .class = BLAME_COMPUTE,
						   .identifiable = true,
						   .share = 0.95 };
	while (job->hosts[ret.list[0].worker] != job->forged)
		ret.list[0].worker++;
	return ret;
}

static struct job_window_result find(struct sim *s, const struct sim_job *job)
{
	struct job_window_case seen;

	if (job->forged != JOB_NOBODY)
		return forge(job);
	gather_speeds(s);
	look(s, job, &seen);
	if (!job->own && !s->options->every_window && !job_window_may_blame(&seen))
		return (struct job_window_result){ .class = BLAME_NOTHING, .slowdown = 1 };
	s->jobs.grade.analysed++;
	return job_window_find(&seen);
}

static void send(struct sim *s, struct sim_job *job)
{
	const uint64_t every_us = s->faults->jobs.every_us;
	const bool seldom = job->own && job->sent >= OWN_OFTEN;
	const bool stale = job->stale && s->now_us < job->began_us + STALE_US;
	const struct job_window_result found = find(s, job);

	job->window_us += seldom ? OWN_SELDOM * every_us : every_us;
	job->sent++;
	job_grade_window(s, job, stale, &found);
	job_loop_window(s, job, &found, stale ? job->before : job->hosts);
}

/* --- the jobs of the fleet --- */

static void tell(struct sim *s)
{
	size_t i;

	s->jobs.moved = false;
	for (i = 0; i < s->options->nodes; i++) {
		const bool slow = host_has(&s->hosts[i], FAULT_SLOW_JOB, s->now_us) != NULL;
		const size_t job = s->jobs.of_host[i];
		const char *const names[] = { job ? s->jobs.list[job - 1].name : FAULT_JOB };

		fleet_set_jobs(&s->fleet, s->agents[i].node, names,
			       job || (slow && s->agents[i].node->out == 0) ? 1 : 0);
	}
}

void job_step(struct sim *s)
{
	size_t i;

	for (i = 0; i < s->jobs.n; i++) {
		struct sim_job *job = &s->jobs.list[i];

		if (job->runs && is_over(s, job))
			end(s, job);
		else if (job->runs && job->window_us <= s->now_us)
			send(s, job);
		if (!job->runs && job->next_us <= s->now_us)
			start(s, job);
	}
	/* The job of FAULT_SLOW_JOB comes and goes on its own. */
	if (s->jobs.moved || s->now_us % AGAIN_US == 0)
		tell(s);
	job_loop_judge(s);
}
