/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/rnic_fixture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static int stats(void *context, const char *netdev, struct nic_stats *ret)
{
	struct rnic_fixture *f = context;

	CHECK_STR(netdev, "eth2");
	if (f->n_stats == 0)
		return -EOPNOTSUPP;
	ret->n = f->n_stats;
	ret->names = xcalloc(ret->n, sizeof(*ret->names));
	ret->values = xcalloc(ret->n, sizeof(*ret->values));
	memcpy(ret->names, f->names, ret->n * sizeof(*ret->names));
	memcpy(ret->values, f->values, ret->n * sizeof(*ret->values));
	return 0;
}

static int link_of(void *context, const char *netdev UNUSED, struct nic_link *ret)
{
	struct rnic_fixture *f = context;

	*ret = f->link;
	return 0;
}

void fixture_open(struct rnic_fixture *f)
{
	(void)setenv("ASSAY_SYSROOT", test_dir(), 1);
	*f = (struct rnic_fixture){
		.port = { .device = "mlx5_0",
			  .number = 1,
			  .subject = "mlx5_0:1",
			  .netdev = "eth2",
			  .model = "MT_0000000838",
			  .state = "ACTIVE",
			  .phys_state = "LinkUp",
			  .rate = "400 Gb/sec (4X NDR)",
			  .ethernet = true,
			  .active = true,
			  .phys_up = true },
		.deadline_us = UINT64_MAX,
		.kept = json_object(),
	};
	f->nic = nic_none;
	f->nic.stats = stats;
	f->nic.link = link_of;
	f->nic.context = f;
	f->ports = (struct ports){ .all = &f->port, .n = 1 };
}

static void forget(struct rnic_fixture *f)
{
	while (f->n_samples)
		sample_release(&f->samples[--f->n_samples]);
}

void fixture_close(struct rnic_fixture *f)
{
	forget(f);
	json_decref(f->kept);
}

void fixture_stat(struct rnic_fixture *f, const char *name, uint64_t value)
{
	size_t i;

	for (i = 0; i < f->n_stats && !streq(f->names[i], name); i++)
		;
	CHECK(i < FIXTURE_STATS_MAX);
	if (i == FIXTURE_STATS_MAX)
		return;
	f->n_stats = MAX(f->n_stats, i + 1);
	(void)snprintf(f->names[i], sizeof(f->names[i]), "%s", name);
	f->values[i] = value;
}

static int keep_sample(void *context, struct sample *s)
{
	struct rnic_fixture *f = context;

	CHECK(f->n_samples < FIXTURE_SAMPLES_MAX);
	if (f->n_samples == FIXTURE_SAMPLES_MAX)
		return -E2BIG;
	f->samples[f->n_samples++] = *s;
	*s = sample_init();
	return 0;
}

void fixture_run(struct rnic_fixture *f, int (*area)(struct rnic_state *state), double uptime_s)
{
	const struct probe_desc desc = { .checks = rnic_checks, .n_checks = rnic_n_checks };
	json_t *before = json_object_get(f->kept, "uptime_s"), *next = json_object();
	struct rnic_state state = {
		.desc = &desc,
		.past = f->kept,
		.next = next,
		.same_boot = before != NULL,
		.deadline_us = f->deadline_us,
		.uptime_s = uptime_s,
		.window_s = before ? uptime_s - json_number_value(before) : NAN,
		.ports = &f->ports,
		.nic = &f->nic,
		.emit = keep_sample,
		.emit_context = f,
	};

	forget(f);
	(void)json_object_set_new(next, "uptime_s", json_real(uptime_s));
	(void)json_object_set_new(next, "counters", json_object());
	state.counters.next = json_object_get(next, "counters");
	if (before)
		state.counters.past = json_object_get(f->kept, "counters");
	CHECK_EQ(area(&state), 0);
	json_decref(f->kept);
	f->kept = next;
}

const struct sample *fixture_find(const struct rnic_fixture *f, const char *check)
{
	static char empty[] = "";
	static const struct sample none = {
		.check = empty, .code = empty, .note = empty, .value = NAN
	};
	const struct sample *found = NULL;
	size_t i;

	for (i = 0; i < f->n_samples; i++) {
		if (!streq(f->samples[i].check, check))
			continue;
		CHECK(!found);
		found = &f->samples[i];
	}
	CHECK(found);
	return found ? found : &none;
}
