/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/campaign_lab.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define LINE_RATE 24e9
#define NOISE 0.01

enum { TURNS_MAX = 20000 };

static const char *away(void *context, const char *node)
{
	struct lab *lab = context;
	const size_t host = campaign_find(lab->campaign, node);

	return host != SIZE_MAX && lab->ways[host] == LAB_AWAY ? "its agent is not connected"
							       : NULL;
}

static int token(void *context, char *ret_token, struct err *err)
{
	struct lab *lab = context;

	if (lab->no_tokens)
		return err_set(err, EAGAIN, "no random numbers yet");
	(void)snprintf(ret_token, CAMPAIGN_TOKEN_SIZE, "token-%037u", ++lab->tokens);
	return 0;
}

struct lab *lab_new(size_t n, size_t n_rails, size_t per_leaf)
{
	struct lab *lab = xcalloc(1, sizeof(*lab));
	size_t i, rail;

	lab->n = n;
	lab->n_rails = n_rails;
	lab->chance = random_seeded(n * 31 + per_leaf);
	lab->now = (struct campaign_moment){ USEC_PER_HOUR, UINT64_C(1795000000000000) };
	lab->around = (struct campaign_around){ away, token, lab };
	for (i = 0; i < n; i++) {
		(void)snprintf(lab->name[i], LAB_NAME_SIZE, "gpu-%zu", i);
		(void)snprintf(lab->leaf[i], LAB_NAME_SIZE, "leaf-%zu", i / per_leaf);
		lab->part[i] = lab->below[i] = 1;
		lab->guests[i] =
			(struct campaign_guest){ .name = lab->name[i], .address = lab->name[i] };
		for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
			lab->nic[i][rail] = 1;
			lab->guests[i].leaf[rail] = lab->leaf[i];
		}
	}
	return lab;
}

void lab_free(struct lab *lab)
{
	campaign_free(lab->campaign);
	free(lab);
}

int lab_begin(struct lab *lab, const struct campaign_ask *ask, struct err *err)
{
	struct campaign_ask whole = ask ? *ask : (struct campaign_ask){ 0 };

	whole.id = 7;
	whole.reason = "a test";
	whole.who = "operator ann";
	whole.hosts = lab->guests;
	whole.n_hosts = lab->n;
	whole.timeout_us = 60 * USEC_PER_SEC;
	whole.seed = 5;
	whole.at_once = whole.at_once ? whole.at_once : SIZE_MAX;
	whole.started_us = lab->now.real_us;
	return campaign_new(&whole, &lab->campaign, err);
}

/* --- hosts --- */

/* Returns the rate of the rail between these hosts, and whether the group aborts. */
static double rate_of(const struct lab *lab, const json_t *peers, size_t rail, bool *ret_breaks)
{
	double least = 1;
	size_t i;

	for (i = 0; i < json_array_size(peers); i++) {
		size_t host =
			campaign_find(lab->campaign, json_string_value(json_array_get(peers, i)));

		least = MIN(least, lab->part[host]);
		least = MIN(least, lab->nic[host][rail]);
		least = MIN(least, lab->below[host]);
		*ret_breaks |= lab->ways[host] == LAB_BREAKS;
	}
	return least * LINE_RATE;
}

static void put(struct lab *lab, struct report *report, size_t rail, double rate)
{
	CLEANUP(freep) char *subject = xasprintf("mlx5_%zu:1", rail);
	const char *check = lab->check ? lab->check : campaign_check(lab->campaign);
	struct sample *s = report_put(report, check, subject, rate);

	s->code = xasprintf("rail:%zu", rail);
}

static void fill(struct lab *lab, size_t host, const json_t *order, struct report *report)
{
	const json_t *peers = json_object_get(order, "peers");
	size_t rail;

	for (rail = 0; rail < lab->n_rails; rail++) {
		bool breaks = false;
		double rate = rate_of(lab, peers, rail, &breaks);

		if (lab->ways[host] == LAB_MODEST)
			rate /= 2;
		put(lab, report, rail, random_normal(&lab->chance, rate, NOISE * rate));
		if (breaks) {
			report->samples[rail].state = SAMPLE_ABORTED;
			report->samples[rail].value = NAN;
			report->samples[rail].note = xstrdup("a rank did not answer");
		}
	}
}

void lab_answer(struct lab *lab, size_t host, const json_t *order)
{
	const char *id = json_string_value(json_object_get(order, "id"));
	struct report report = report_make();

	free(report.node);
	report.node = xstrdup(lab->name[host]);
	if (lab->ways[host] == LAB_BUSY)
		report_put_problem(&report, "all-reduce", PROBLEM_BUSY, "a job runs on it");
	else
		fill(lab, host, order, &report);
	CHECK(campaign_report(lab->campaign, id, &report));
	CHECK(!campaign_report(lab->campaign, id, &report));
	report_release(&report);
}

bool lab_turn(struct lab *lab)
{
	size_t host, told = 0;

	(void)campaign_advance(lab->campaign, &lab->now, &lab->around);
	if (lab->campaign->state != CAMPAIGN_RUNNING)
		return false;
	for (host = 0; host < lab->n; host++) {
		CLEANUP(json_freep)
		json_t *order = lab->ways[host] == LAB_AWAY
					? NULL
					: campaign_order(lab->campaign, lab->name[host], &lab->now);

		told += order != NULL;
		if (order && lab->ways[host] != LAB_SILENT)
			lab_answer(lab, host, order);
	}
	lab->most_at_once = MAX(lab->most_at_once, told);
	if (told == 0) {
		lab->now.mono_us += USEC_PER_SEC;
		lab->now.real_us += USEC_PER_SEC;
	}
	return true;
}

void lab_play(struct lab *lab)
{
	size_t turns = 0;

	while (lab_turn(lab) && turns++ < TURNS_MAX)
		;
	CHECK_EQ(lab->campaign->state, CAMPAIGN_DONE);
}

struct seek {
	const char *node;
	int said;
};

static void note(void *context, const struct campaign_says *says)
{
	struct seek *seek = context;

	if (streq(says->node, seek->node))
		seek->said = says->bad ? 1 : -1;
}

int lab_says(const struct lab *lab, size_t host)
{
	struct seek seek = { lab->name[host], 0 };

	campaign_each(lab->campaign, note, &seek);
	return seek.said;
}
