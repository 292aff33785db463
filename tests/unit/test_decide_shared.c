/* SPDX-License-Identifier: Apache-2.0 */
/* Causes shared by many hosts: notices instead of cordons. */
#include "lib/policy/decide.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/decide_shared.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

static struct finding *note_twice(struct world *w, unsigned i, const char *check)
{
	note(w, i, check, SEVERITY_FAIL);
	return note(w, i, check, SEVERITY_FAIL);
}

/* Results so far. */
struct tally {
	size_t cordons, fleet, domain;
};

/* One hour: pending tests fail again, and decisions are executed. */
static void an_hour(struct world *w, struct tally *tally)
{
	size_t i;

	for (i = 0; i < w->fleet.n; i++) {
		struct fleet_node *node = w->fleet.nodes[i];

		if (node->record.ordered_us > 0)
			tested(w, (unsigned)i, node->findings, TEST_FAILED);
	}
	later(w, USEC_PER_HOUR);
	decide_and_do(w);
	tally->cordons += count_of(w, DECIDE_CORDON);
	for (i = 0; i < w->out.n_notices; i++) {
		tally->fleet += w->out.notices[i].begun && w->out.notices[i].kind == NOTICE_FLEET;
		tally->domain += w->out.notices[i].begun && w->out.notices[i].kind == NOTICE_DOMAIN;
	}
}

static void half_of_the_hosts_are_one_alarm_and_no_cordon(void)
{
	CLEANUP(world_release) struct world w;
	struct tally tally = { 0 };
	unsigned i;

	world_init(&w, RULES, 16);
	w.policy.alike_nodes = 100;
	for (i = 0; i < 8; i++)
		reproduce(&w, i, "gemm.rate");
	for (i = 0; i < 5; i++)
		an_hour(&w, &tally);
	CHECK_EQ(tally.cordons, 0);
	CHECK_EQ(tally.fleet, 1);
	CHECK_EQ(tally.domain, 0);
	CHECK(!w.breaker.open);
	CHECK_HAS(w.out.notices[0].sentence, "hgx: 8 of 16 hosts have a problem in gemm.rate");
	CHECK_EQ(count_of(&w, DECIDE_ALERT), 0);
}

static void a_notice_ends_when_half_of_its_hosts_are_well(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 16);
	for (i = 0; i < 8; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	for (i = 0; i < 4; i++)
		fleet_clear(&w.fleet, world_node(&w, i), world_node(&w, i)->findings);
	decide(&w);
	CHECK(w.out.n_notices == 1 && w.out.notices[0].ended_us == 0);
	fleet_clear(&w.fleet, world_node(&w, 4), world_node(&w, 4)->findings);
	decide(&w);
	CHECK(w.out.n_notices == 1 && w.out.notices[0].ended_us == w.now_us);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
}

/* Eight hosts become low together; all but the last `n` of them are good again. */
static void some_are_left_of_a_notice(struct world *w, unsigned n)
{
	unsigned i;

	world_init(w, RULES, 16);
	for (i = 0; i < 8; i++)
		note_twice(w, i, "gemm.rate");
	decide_and_do(w);
	for (i = 0; i < 8 - n; i++)
		fleet_clear(&w->fleet, world_node(w, i), world_node(w, i)->findings);
	decide_and_do(w);
	CHECK(w->out.n_notices == 1 && w->out.notices[0].ended_us == w->now_us);
}

static void what_was_shared_is_a_hosts_own_when_it_was_bad_again_a_day_later(void)
{
	CLEANUP(world_release) struct world w;
	unsigned hours, i;

	some_are_left_of_a_notice(&w, 2);
	/* Earlier runs are attributed to the shared cause. */
	later(&w, USEC_PER_DAY);
	decide_and_do(&w);
	CHECK_EQ(count_of(&w, DECIDE_RETEST) + count_of(&w, DECIDE_ALERT), 0);
	CHECK(world_node(&w, 6)->findings->shared);
	for (hours = 0; hours < 8; hours += 4) {
		for (i = 6; i < 8; i++)
			note(&w, i, "gemm.rate", SEVERITY_FAIL);
		decide_and_do(&w);
		CHECK_EQ(count_of(&w, DECIDE_RETEST), hours == 0 ? 0 : 2);
		later(&w, 4 * USEC_PER_HOUR);
	}
	CHECK(!world_node(&w, 6)->findings->shared);
}

/* Each of them sometimes passes, so the notice ended, but the shared cause continues. */
static void what_three_still_share_is_none_of_theirs_until_fewer_have_it(void)
{
	CLEANUP(world_release) struct world w;
	unsigned hours, i;

	some_are_left_of_a_notice(&w, 3);
	for (hours = 0; hours < 48; hours += 4) {
		later(&w, 4 * USEC_PER_HOUR);
		for (i = 5; i < 8; i++)
			note(&w, i, "gemm.rate", SEVERITY_FAIL);
		decide_and_do(&w);
		CHECK_EQ(count_of(&w, DECIDE_RETEST) + count_of(&w, DECIDE_ALERT), 0);
	}
	fleet_clear(&w.fleet, world_node(&w, 5), world_node(&w, 5)->findings);
	later(&w, 4 * USEC_PER_HOUR);
	for (i = 6; i < 8; i++)
		note(&w, i, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	CHECK_EQ(count_of(&w, DECIDE_RETEST), 2);
}

/* Heat returns in the afternoon. */
static void bad_runs_within_a_day_of_a_notice_are_of_what_it_shared(void)
{
	CLEANUP(world_release) struct world w;
	unsigned hours;

	some_are_left_of_a_notice(&w, 3);
	for (hours = 4; hours < 24; hours += 4) {
		later(&w, 4 * USEC_PER_HOUR);
		note(&w, 6, "gemm.rate", SEVERITY_FAIL);
		decide_and_do(&w);
		CHECK_EQ(count_of(&w, DECIDE_RETEST), 0);
	}
	later(&w, 4 * USEC_PER_HOUR);
	decide_and_do(&w);
	CHECK_EQ(count_of(&w, DECIDE_RETEST), 1);
}

/* A finding reproduced before it was known to be shared does not prove a fault of the host. */
static void a_host_that_was_tested_before_the_notice_is_acquitted(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 16);
	tested(&w, 0, note_twice(&w, 0, "gemm.rate"), TEST_FAILED);
	CHECK_EQ(world_node(&w, 0)->findings->reproduced, 1);
	for (i = 1; i < 8; i++)
		note_twice(&w, i, "gemm.rate");
	decide_and_do(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(world_node(&w, 0)->findings->reproduced, 0);
}

/* In a rack of 64 of 1,000 hosts n hosts are bad, one of them reproduced; elsewhere `others` are. */
static void some_gather_in_a_rack(struct world *w, unsigned n, unsigned others)
{
	unsigned i;

	world_init(w, RULES, 1000);
	for (i = 0; i < 1000; i++) {
		char rack[24];

		(void)snprintf(rack, sizeof(rack), "rack%u", i / 64);
		fleet_set_domain(&w->fleet, world_node(w, i), rack);
	}
	for (i = 1; i < n; i++)
		note(w, 64 + i, "gemm.rate", SEVERITY_FAIL);
	for (i = 0; i < others; i++)
		note(w, 130 + 20 * i, "gemm.rate", SEVERITY_FAIL);
	reproduce(w, 64, "gemm.rate");
}

/* Too few for the rack, and too many for a coincidence: the next runs of the others decide. */
static void nobody_is_blamed_while_hosts_of_a_rack_become_bad_one_by_one(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	some_gather_in_a_rack(&w, 5, 9);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
	CHECK_EQ(count_of(&w, DECIDE_CORDON) + count_of(&w, DECIDE_ALERT), 0);
	CHECK(world_node(&w, 64)->findings->shared);
	/* The others are good, so it is this one. */
	for (i = 1; i < 5; i++)
		windows_push(&world_node(&w, 64 + i)->findings->windows, false);
	later(&w, USEC_PER_HOUR);
	decide(&w);
	CHECK(find(&w, 64, DECIDE_CORDON));
}

static void what_gathers_does_not_wait_longer_than_all_need_to_run(void)
{
	CLEANUP(world_release) struct world w;

	some_gather_in_a_rack(&w, 5, 9);
	decide(&w);
	CHECK(!find(&w, 64, DECIDE_CORDON));
	later(&w, w.policy.alike_per_us);
	decide(&w);
	CHECK(find(&w, 64, DECIDE_CORDON));
}

static void a_few_of_a_rack_or_as_many_as_elsewhere_do_not_gather(void)
{
	static const struct {
		unsigned n, others;
		bool cordon;
	} rows[] = { { 4, 0, true }, { 5, 40, true }, { 5, 18, false }, { 6, 0, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		some_gather_in_a_rack(&w, rows[i].n, rows[i].others);
		decide(&w);
		CHECK_EQ(find(&w, 64, DECIDE_CORDON) != NULL, rows[i].cordon);
	}
}

/* A roll-out that costs 5 % reaches a tenth of the hosts per hour. */
static void a_roll_out_in_waves_is_one_alarm(bool by_rack)
{
	CLEANUP(world_release) struct world w;
	struct tally tally = { 0 };
	unsigned wave, i;

	world_init(&w, RULES, 200);
	for (i = 0; i < 200; i++) {
		char rack[24];

		(void)snprintf(rack, sizeof(rack), "rack%u", i / 10);
		fleet_set_domain(&w.fleet, world_node(&w, i), rack);
	}
	for (wave = 0; wave < 10; wave++) {
		for (i = 0; i < 200; i++) {
			if (by_rack ? i / 20 == wave : i % 10 == wave)
				note_twice(&w, i, "gemm.rate");
		}
		an_hour(&w, &tally);
	}
	CHECK_EQ(tally.cordons, 0);
	CHECK_EQ(tally.fleet, 1);
	/* The first two racks count as racks; the next two make it the fleet's. */
	CHECK_EQ(tally.domain, by_rack ? 2 : 0);
	CHECK(!w.breaker.open);
}

static void a_roll_out_across_the_racks_is_one_alarm(void)
{
	a_roll_out_in_waves_is_one_alarm(false);
}

static void a_roll_out_rack_by_rack_is_one_alarm(void)
{
	a_roll_out_in_waves_is_one_alarm(true);
}

/* A ToR halves the network of 64 of 1,000 hosts; each sees it a little later than the previous one. */
static void a_bad_switch_is_one_incident_of_its_domain(void)
{
	CLEANUP(world_release) struct world w;
	struct tally tally = { 0 };
	unsigned i;

	world_init(&w,
		   "{name: pair, match: {check: 'rnic_pair.*'}, windows: {k: 2, n: 3}, "
		   "action: retest}",
		   1000);
	w.policy.domain_label = xstrdup("tor");
	for (i = 0; i < 1000; i++) {
		char tor[24];

		(void)snprintf(tor, sizeof(tor), "tor%u", i / 64);
		fleet_set_domain(&w.fleet, world_node(&w, i), tor);
	}
	for (i = 0; i < 64; i += 16) {
		unsigned j;

		for (j = i; j < i + 16; j++)
			note_twice(&w, 128 + j, "rnic_pair.write_bw");
		later(&w, 5 * USEC_PER_MIN);
		decide_and_do(&w);
		tally.cordons += count_of(&w, DECIDE_CORDON);
		tally.fleet += w.out.n_notices > 0 && w.out.notices[0].begun &&
			       w.out.notices[0].kind == NOTICE_FLEET;
		tally.domain += w.out.n_notices > 0 && w.out.notices[0].begun &&
				w.out.notices[0].kind == NOTICE_DOMAIN;
	}
	for (i = 0; i < 20; i++)
		an_hour(&w, &tally);
	CHECK(tally.cordons <= w.policy.domain_max);
	CHECK_EQ(tally.domain, 1);
	CHECK_EQ(tally.fleet, 0);
	CHECK(!w.breaker.open);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_HAS(w.out.notices[0].sentence, "tor tor2");
	CHECK_HAS(w.out.notices[0].sentence, "of 64 hosts");
}

static void a_fault_of_one_host_is_found_beside_a_bad_domain(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w,
		   FATAL ", " SLOW ", {name: loop, match: {check: 'loopback.*'}, action: retest}",
		   64);
	w.policy.domain_label = xstrdup("rack");
	for (i = 0; i < 64; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 8 ? "bad" : "good");
	for (i = 0; i < 8; i++)
		note(&w, i, "loopback.write_bw", SEVERITY_FAIL);
	reproduce(&w, 2, "gemm.rate");
	reproduce(&w, 20, "gemm.rate");
	later(&w, USEC_PER_HOUR);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK(find(&w, 2, DECIDE_CORDON));
	CHECK(find(&w, 20, DECIDE_CORDON));
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 2);
}

static void fatal_hosts_of_a_bad_domain_go_under_its_budget(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	w.policy.domain_label = xstrdup("rack");
	for (i = 0; i < 100; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 8 ? "bad" : "good");
	for (i = 0; i < 3; i++)
		note(&w, i, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 3);
	CHECK(find(&w, 0, DECIDE_CORDON)->effect);
	CHECK_EQ(find(&w, 1, DECIDE_CORDON)->refused->by, REFUSED_BY_DOMAIN);
	CHECK_EQ(find(&w, 2, DECIDE_CORDON)->refused->by, REFUSED_BY_DOMAIN);
}

static void a_wrong_sku_file_opens_the_breaker_and_nothing_else(void)
{
	CLEANUP(world_release) struct world w;
	size_t effects = 0, i;

	world_init(&w, FATAL ", {name: all, match: {check: '*'}, action: cordon}", 100);
	for (i = 0; i < 100; i++)
		note(&w, (unsigned)i, "inventory.gpus", SEVERITY_FAIL)->source = SOURCE_SKU;
	decide(&w);
	CHECK(w.breaker.open && w.out.opened);
	CHECK_EQ(w.breaker.cause, BREAKER_SKU_FILE);
	CHECK_HAS(w.breaker.sentence, "100 of 100 hosts of hgx have inventory.gpus");
	CHECK_HAS(w.breaker.sentence, "SKU file");
	for (i = 0; i < w.out.n; i++)
		effects += w.out.items[i].effect;
	CHECK_EQ(effects, 0);
	CHECK_EQ(w.out.n_notices, 0);
}

static void one_fatal_signature_all_over_opens_the_breaker(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	w.policy.storm_cordons = 50;
	for (i = 0; i < 4; i++)
		note(&w, i * 20, "gpu.xid", SEVERITY_FATAL);
	decide(&w);
	CHECK(!w.breaker.open);
	note(&w, 95, "gpu.xid", SEVERITY_FATAL);
	decide(&w);
	CHECK(w.breaker.open && w.out.opened);
	CHECK_EQ(w.breaker.cause, BREAKER_SIGNATURE);
	CHECK_HAS(w.breaker.sentence, "gpu.xid");
	CHECK_EQ(find(&w, 0, DECIDE_CORDON)->refused->by, REFUSED_BY_BREAKER);
	decide(&w);
	CHECK(w.breaker.open && !w.out.opened);
}

static void a_host_with_many_bad_parts_is_one_host(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	for (i = 0; i < 9; i++) {
		char gpu[24];
		const struct finding_news news = { .check = "gpu.xid",
						   .subject = gpu,
						   .severity = SEVERITY_FATAL,
						   .seen_us = w.now_us };

		(void)snprintf(gpu, sizeof(gpu), "gpu:%u", i);
		fleet_note(&w.fleet, world_node(&w, 3), &news);
	}
	decide(&w);
	CHECK(!w.breaker.open);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 1);
}

static void three_of_a_large_domain_are_not_the_domain(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 200);
	for (i = 0; i < 200; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 64 ? "a" : "b");
	for (i = 0; i < 3; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
	CHECK_EQ(count_of(&w, DECIDE_RETEST), 3);
}

/* One GPU of eight on n<i>, low since it was first measured. */
static struct finding *note_born(struct world *w, unsigned i, const char *check)
{
	struct finding *finding = note_twice(w, i, check);

	finding->born = true;
	finding->parts = 8;
	finding->parts_bad = 1;
	return finding;
}

/* The low tail of 1,000 good GPUs, and one that became slow: it is tested. */
static void parts_born_slow_are_no_shared_cause(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 125);
	for (i = 0; i < 6; i++)
		note_born(&w, i, "gemm.rate")->source = SOURCE_SKU;
	note_twice(&w, 60, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
	CHECK(!w.breaker.open);
	CHECK(find(&w, 60, DECIDE_RETEST));
	CHECK(find(&w, 0, DECIDE_ALERT));
	CHECK(!find(&w, 0, DECIDE_RETEST));
}

static void parts_born_slow_do_not_make_their_domain_bad(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 64);
	for (i = 0; i < 64; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 8 ? "a" : "b");
	for (i = 0; i < 4; i++)
		note_born(&w, i, "gemm.rate");
	note_twice(&w, 7, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
	CHECK(find(&w, 7, DECIDE_RETEST));
}

/* Five of 125 hosts that are low only by the file may be reported; the file is not wrong for that. */
static void a_sku_file_is_wrong_for_half_of_its_fleet_and_no_less(void)
{
	static const struct {
		unsigned hosts;
		bool open;
	} rows[] = { { 5, false }, { 61, false }, { 63, true } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		unsigned j;

		world_init(&w, RULES, 125);
		for (j = 0; j < rows[i].hosts; j++)
			note_twice(&w, j, "gemm.rate")->source = SOURCE_SKU;
		decide(&w);
		CHECK_EQ(w.breaker.open, rows[i].open);
	}
}

/* Findings from before a person reset the breaker are not new to that person. */
static void a_reset_makes_no_standing_finding_new(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 125);
	w.policy.storm_cordons = 100;
	for (i = 0; i < 5; i++)
		note(&w, i * 20, "gpu.xid", SEVERITY_FATAL);
	decide(&w);
	CHECK_EQ(w.breaker.cause, BREAKER_SIGNATURE);
	later(&w, USEC_PER_HOUR);
	(void)breaker_reset(&w.breaker, "operator ann", "five bad boards of one delivery", w.now_us);
	later(&w, USEC_PER_MIN);
	decide(&w);
	for (i = 0; i < 5; i++)
		note(&w, i * 20, "gpu.xid", SEVERITY_FATAL);
	decide(&w);
	CHECK(!w.breaker.open);
	CHECK(find(&w, 0, DECIDE_CORDON) && !find(&w, 0, DECIDE_CORDON)->refused);
}

static void a_reset_makes_no_cordoned_host_clean(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	note(&w, 3, "gpu.xid", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_CORDONED);
	later(&w, USEC_PER_HOUR);
	(void)breaker_reset(&w.breaker, "operator ann", "looked at it", w.now_us);
	later(&w, USEC_PER_MIN);
	decide(&w);
	CHECK_EQ(world_node(&w, 3)->record.clear_us, 0);
	CHECK(!find(&w, 3, DECIDE_VERIFY));
}

/* A setting, or a job, on the first `n` of 80 hosts; every third bad one has reached its K of N. */
static void a_quarter_of_a_sku_is(struct world *w, unsigned n, bool job)
{
	static const char *const mine[] = { "bios=2.4.1", "driver=550" },
				 *const other[] = { "bios=2.3.0", "driver=550" },
				 *const jobs[] = { "llm-7" };
	unsigned i;

	world_init(w, RULES, 80);
	w->policy.alike_nodes = 100;
	for (i = 0; i < 80; i++) {
		fleet_set_settings(&w->fleet, world_node(w, i), !job && i < 20 ? mine : other, 2);
		if (job && i < 20)
			fleet_set_jobs(&w->fleet, world_node(w, i), jobs, 1);
	}
	for (i = 0; i < n; i++) {
		note(w, i, "gemm.rate", SEVERITY_FAIL);
		if (i % 3 == 0)
			note(w, i, "gemm.rate", SEVERITY_FAIL);
	}
	reproduce(w, 50, "gemm.rate");
}

static void what_only_hosts_with_one_setting_show_is_the_setting(void)
{
	CLEANUP(world_release) struct world w;

	a_quarter_of_a_sku_is(&w, 12, false);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_SETTING);
	CHECK_STR(w.out.notices[0].key, "hgx gemm.rate bios=2.4.1");
	CHECK_HAS(w.out.notices[0].sentence,
		  "hgx: 12 of 20 hosts with bios=2.4.1 have a problem in "
		  "gemm.rate, and 1 of 60 others");
	CHECK_EQ(count_of(&w, DECIDE_RETEST), 0);
	CHECK(world_node(&w, 1)->findings->shared);
	/* A host without it has its own fault. */
	CHECK(find(&w, 50, DECIDE_CORDON));
	CHECK(!w.breaker.open);
}

static void too_few_with_a_setting_are_not_the_setting(void)
{
	CLEANUP(world_release) struct world w;

	a_quarter_of_a_sku_is(&w, 5, false);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
	CHECK_EQ(count_of(&w, DECIDE_RETEST), 2);
}

static void what_only_hosts_of_one_job_show_is_the_job(void)
{
	CLEANUP(world_release) struct world w;

	a_quarter_of_a_sku_is(&w, 14, true);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_JOB);
	CHECK_HAS(w.out.notices[0].sentence, "14 of 20 hosts of job llm-7");
	CHECK(find(&w, 50, DECIDE_CORDON));
}

/* Fewer than half of a job's hosts, newly low, and hardly any others: their next runs decide. */
static void few_of_a_job_wait_until_its_others_have_run(void)
{
	static const struct {
		unsigned n;
		bool job, waits;
	} rows[] = { { 2, true, false }, { 3, true, true }, { 9, true, true }, { 3, false, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		a_quarter_of_a_sku_is(&w, rows[i].n, rows[i].job);
		reproduce(&w, 0, "gemm.rate");
		decide(&w);
		CHECK_EQ(w.out.n_notices, 0);
		CHECK_EQ(find(&w, 0, DECIDE_CORDON) == NULL, rows[i].waits);
		CHECK(find(&w, 50, DECIDE_CORDON));
		later(&w, w.policy.alike_per_us);
		decide(&w);
		CHECK(find(&w, 0, DECIDE_CORDON));
	}
}

/* The first host of a rack that has its two bad runs finds most others with one. */
static void one_bad_run_of_the_others_is_enough_for_a_domain(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	for (i = 0; i < 100; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 10 ? "hot" : "good");
	for (i = 0; i < 4; i++)
		note(&w, i, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 0);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_DOMAIN);
	CHECK_EQ(w.out.notices[0].hosts, 4);
	CHECK_EQ(count_of(&w, DECIDE_RETEST) + count_of(&w, DECIDE_ALERT), 0);
}

/* Six hosts at once are one notice; one found two days earlier or later is tested. */
static void a_notice_of_some_leaves_the_others_alone(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	note_twice(&w, 90, "gemm.rate");
	decide(&w);
	later(&w, 2 * USEC_PER_DAY);
	for (i = 0; i < 6; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK(find(&w, 90, DECIDE_RETEST));
	later(&w, 2 * USEC_PER_DAY);
	note_twice(&w, 91, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK(find(&w, 91, DECIDE_RETEST));
	CHECK(!find(&w, 0, DECIDE_RETEST));
}

static const struct test tests[] = {
	TEST(what_only_hosts_with_one_setting_show_is_the_setting),
	TEST(too_few_with_a_setting_are_not_the_setting),
	TEST(what_only_hosts_of_one_job_show_is_the_job),
	TEST(few_of_a_job_wait_until_its_others_have_run),
	TEST(one_bad_run_of_the_others_is_enough_for_a_domain),
	TEST(a_notice_of_some_leaves_the_others_alone),
	TEST(what_was_shared_is_a_hosts_own_when_it_was_bad_again_a_day_later),
	TEST(what_three_still_share_is_none_of_theirs_until_fewer_have_it),
	TEST(bad_runs_within_a_day_of_a_notice_are_of_what_it_shared),
	TEST(a_host_that_was_tested_before_the_notice_is_acquitted),
	TEST(nobody_is_blamed_while_hosts_of_a_rack_become_bad_one_by_one),
	TEST(what_gathers_does_not_wait_longer_than_all_need_to_run),
	TEST(a_few_of_a_rack_or_as_many_as_elsewhere_do_not_gather),
	TEST(parts_born_slow_are_no_shared_cause),
	TEST(parts_born_slow_do_not_make_their_domain_bad),
	TEST(a_sku_file_is_wrong_for_half_of_its_fleet_and_no_less),
	TEST(a_reset_makes_no_standing_finding_new),
	TEST(a_reset_makes_no_cordoned_host_clean),
	TEST(half_of_the_hosts_are_one_alarm_and_no_cordon),
	TEST(a_notice_ends_when_half_of_its_hosts_are_well),
	TEST(a_roll_out_across_the_racks_is_one_alarm),
	TEST(a_roll_out_rack_by_rack_is_one_alarm),
	TEST(a_bad_switch_is_one_incident_of_its_domain),
	TEST(a_fault_of_one_host_is_found_beside_a_bad_domain),
	TEST(fatal_hosts_of_a_bad_domain_go_under_its_budget),
	TEST(a_wrong_sku_file_opens_the_breaker_and_nothing_else),
	TEST(one_fatal_signature_all_over_opens_the_breaker),
	TEST(a_host_with_many_bad_parts_is_one_host),
	TEST(three_of_a_large_domain_are_not_the_domain),
};

TEST_SUITE(tests);
