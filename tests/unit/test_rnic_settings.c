/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of ports: netlink's answers, strings, and ports that differ from the others. */
#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/run/run_settings.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "probes/rnic_state/settings.h"
#include "tests/unit/rnic_fixture.h"
#include "tests/unit/test.h"

/* --- an answer, built attribute by attribute ------------------------------------------------ */

struct message {
	unsigned char bytes[1024];
	size_t len;
};

static void put(struct message *m, const void *bytes, size_t len)
{
	memcpy(m->bytes + m->len, bytes, len);
	m->len += (len + 3) / 4 * 4;
}

/* Begin an attribute; its length is set by end(). */
static size_t begin(struct message *m, unsigned type)
{
	struct nlattr head = { .nla_type = (uint16_t)type };

	put(m, &head, sizeof(head));
	return m->len - sizeof(head);
}

static void end(struct message *m, size_t at)
{
	uint16_t len = (uint16_t)(m->len - at);

	memcpy(m->bytes + at, &len, sizeof(len));
}

static void attribute(struct message *m, unsigned type, const void *bytes, size_t len)
{
	size_t at = begin(m, type);
	uint16_t whole = (uint16_t)(sizeof(struct nlattr) + len);

	put(m, bytes, len);
	memcpy(m->bytes + at, &whole, sizeof(whole));
}

static void start(struct message *m)
{
	struct nlmsghdr head = { .nlmsg_type = RTM_GETDCB };
	struct dcbmsg dcb = { .cmd = DCB_CMD_IEEE_GET };

	*m = (struct message){ .len = 0 };
	put(m, &head, sizeof(head));
	put(m, &dcb, sizeof(dcb));
	attribute(m, DCB_ATTR_IFNAME, "eth2", 5);
}

static void finish(struct message *m)
{
	uint32_t len = (uint32_t)m->len;

	memcpy(m->bytes, &len, sizeof(len));
}

/* PFC on priority 3, DSCP 26 and 48 mapped, and what else such an answer has. */
static void a_whole_answer(struct message *m)
{
	const struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 1 << 3, .requests = { 7 } };
	const struct dcb_app apps[] = {
		{ IEEE_8021QAZ_APP_SEL_DSCP, 3, 26 },
		{ IEEE_8021QAZ_APP_SEL_ETHERTYPE, 5, 0x8906 },
		{ IEEE_8021QAZ_APP_SEL_DSCP, 6, 48 },
		{ IEEE_8021QAZ_APP_SEL_DSCP, 6, 200 }, /* there is no such DSCP */
		{ IEEE_8021QAZ_APP_SEL_DSCP, 9, 10 },  /* nor such a priority */
	};
	size_t ieee, table, i;

	start(m);
	ieee = begin(m, DCB_ATTR_IEEE | NLA_F_NESTED);
	attribute(m, DCB_ATTR_IEEE_ETS, (const char[64]){ 0 }, 64);
	attribute(m, DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
	table = begin(m, DCB_ATTR_IEEE_APP_TABLE);
	for (i = 0; i < ARRAY_SIZE(apps); i++)
		attribute(m, DCB_ATTR_IEEE_APP, &apps[i], sizeof(apps[i]));
	end(m, table);
	end(m, ieee);
	finish(m);
}

static void an_answer_is_read(void)
{
	char text[SETTING_TEXT_SIZE];
	struct message m;
	struct dcb dcb;

	a_whole_answer(&m);
	CHECK_EQ(dcb_decode(m.bytes, m.len, &dcb), 0);
	CHECK(dcb.has_pfc && dcb.has_apps);
	CHECK_EQ(dcb.pfc, 8);
	CHECK_EQ(dcb.n_dscp, 2);
	say_trust(&dcb, text, sizeof(text));
	CHECK_STR(text, "dscp 26:3 48:6");
}

static void an_answer_without_an_application_table_trusts_pcp(void)
{
	char text[SETTING_TEXT_SIZE];
	struct message m;
	struct dcb dcb;
	size_t ieee;

	start(&m);
	ieee = begin(&m, DCB_ATTR_IEEE);
	end(&m, begin(&m, DCB_ATTR_IEEE_APP_TABLE));
	end(&m, ieee);
	finish(&m);
	CHECK_EQ(dcb_decode(m.bytes, m.len, &dcb), 0);
	CHECK(!dcb.has_pfc && dcb.has_apps);
	say_trust(&dcb, text, sizeof(text));
	CHECK_STR(text, "pcp");
}

static void an_error_is_the_devices_own(void)
{
	struct message m = { .len = 0 };
	struct nlmsghdr head = { .nlmsg_type = NLMSG_ERROR };
	struct dcb dcb;
	int error = -EOPNOTSUPP;

	put(&m, &head, sizeof(head));
	put(&m, &error, sizeof(error));
	finish(&m);
	CHECK_EQ(dcb_decode(m.bytes, m.len, &dcb), -EOPNOTSUPP);
	error = 0; /* an acknowledgement is no answer */
	memcpy(m.bytes + sizeof(head), &error, sizeof(error));
	CHECK_EQ(dcb_decode(m.bytes, m.len, &dcb), -EPROTO);
}

static void a_cut_or_spoilt_answer_is_refused_or_read_as_far_as_it_goes(void)
{
	struct message whole, m;
	struct dcb dcb;
	size_t i;

	a_whole_answer(&whole);
	for (i = 0; i < whole.len; i++) {
		/* exactly so many bytes, that a sanitizer sees a read past them */
		CLEANUP(freep) void *exact = xcalloc(MAX(i, (size_t)1), 1);

		memcpy(exact, whole.bytes, i);
		CHECK_EQ(dcb_decode(exact, i, &dcb), -EPROTO);
		m = whole;
		m.len = i;
		if (i >= sizeof(struct nlmsghdr) + sizeof(struct dcbmsg)) {
			finish(&m);
			CHECK_EQ(dcb_decode(m.bytes, m.len, &dcb), 0);
		}
		m = whole;
		m.bytes[i] ^= 0xff;
		(void)dcb_decode(m.bytes, m.len, &dcb);
	}
	/* An attribute of length 0 would never end. */
	start(&m);
	attribute(&m, DCB_ATTR_IEEE, "", 0);
	memset(m.bytes + m.len - 4, 0, 4);
	finish(&m);
	CHECK_EQ(dcb_decode(m.bytes, m.len, &dcb), 0);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void bits_are_told(void)
{
	char text[SETTING_TEXT_SIZE];

	say_bits(0, text, sizeof(text));
	CHECK_STR(text, "none");
	say_bits(1 << 3, text, sizeof(text));
	CHECK_STR(text, "3");
	say_bits(0xff, text, sizeof(text));
	CHECK_STR(text, "0,1,2,3,4,5,6,7");
}

static void the_mtu_of_rdma_is_what_fits(void)
{
	CHECK_EQ(rdma_mtu(9000), 4096);
	CHECK_EQ(rdma_mtu(4200), 4096);
	CHECK_EQ(rdma_mtu(4192), 4096);
	CHECK_EQ(rdma_mtu(4191), 2048);
	CHECK_EQ(rdma_mtu(1500), 1024);
	CHECK_EQ(rdma_mtu(351), 0);
	CHECK_EQ(rdma_mtu(352), 256);
	CHECK_EQ(rdma_mtu(0), 0);
	CHECK_EQ(rdma_mtu(UINT64_MAX), 4096);
}

/* --- ports ------------------------------------------------------------------------------------- */

enum { PORTS = 4 };

static struct port ports[PORTS];
static uint8_t pfc_of[PORTS];

static int dcb_of(void *context UNUSED, const char *netdev, struct dcb *ret)
{
	size_t i;

	for (i = 0; i < PORTS && !streq(ports[i].netdev, netdev); i++)
		;
	if (i == PORTS || pfc_of[i] == 0xff)
		return -EOPNOTSUPP;
	*ret = (struct dcb){ .has_pfc = true, .pfc = pfc_of[i] };
	return 0;
}

/* Four ports of one model. */
static void open_ports(struct rnic_fixture *f, const uint8_t pfc[static PORTS])
{
	size_t i;

	fixture_open(f);
	for (i = 0; i < PORTS; i++) {
		ports[i] = f->port;
		(void)snprintf(ports[i].subject, sizeof(ports[i].subject), "mlx5_%zu:1", i);
		(void)snprintf(ports[i].netdev, sizeof(ports[i].netdev), "eth%zu", i);
		pfc_of[i] = pfc[i];
	}
	f->ports = (struct ports){ .all = ports, .n = PORTS };
	f->nic.dcb = dcb_of;
}

static const struct sample *find_of(const struct rnic_fixture *f, const char *check,
				    const char *subject)
{
	size_t i;

	for (i = 0; i < f->n_samples; i++) {
		if (streq(f->samples[i].check, check) && streq(f->samples[i].subject, subject))
			return &f->samples[i];
	}
	return NULL;
}

static void ports_that_are_alike_are_one_sample(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	open_ports(&f, (const uint8_t[PORTS]){ 8, 8, 8, 8 });
	fixture_run(&f, rnic_settings, 10);
	s = fixture_find(&f, "rnic.pfc");
	CHECK_STR(s->subject, "host");
	CHECK_NEAR(s->value, 8, 0);
	CHECK_EQ(s->ok, TRI_UNKNOWN);
	CHECK_STR(json_string_value(json_object_get(s->params, "setting")), "3");
	fixture_close(&f);
}

static void the_port_that_is_unlike_the_others_is_named(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	open_ports(&f, (const uint8_t[PORTS]){ 8, 8, 0, 8 });
	fixture_run(&f, rnic_settings, 10);
	CHECK(!find_of(&f, "rnic.pfc", "host"));
	s = find_of(&f, "rnic.pfc", "mlx5_2:1");
	CHECK(s && s->ok == TRI_NO && s->severity == SEVERITY_INFO);
	CHECK_STR(s ? s->code : "", "unlike-others");
	s = find_of(&f, "rnic.pfc", "mlx5_0:1");
	CHECK(s && s->ok == TRI_UNKNOWN);
	fixture_close(&f);
}

static void of_two_halves_nobody_is_unlike_most(void)
{
	struct rnic_fixture f;
	size_t i;

	open_ports(&f, (const uint8_t[PORTS]){ 8, 8, 0, 0 });
	fixture_run(&f, rnic_settings, 10);
	CHECK(f.n_samples >= PORTS);
	for (i = 0; i < f.n_samples; i++)
		CHECK(f.samples[i].ok != TRI_NO);
	fixture_close(&f);
}

static void ports_of_another_model_may_differ(void)
{
	struct rnic_fixture f;
	const struct sample *s;

	open_ports(&f, (const uint8_t[PORTS]){ 8, 8, 0, 8 });
	(void)snprintf(ports[2].model, sizeof(ports[2].model), "other");
	fixture_run(&f, rnic_settings, 10);
	s = find_of(&f, "rnic.pfc", "mlx5_2:1");
	CHECK(s && s->ok == TRI_UNKNOWN);
	fixture_close(&f);
}

static void what_a_port_does_not_say_is_no_sample(void)
{
	struct rnic_fixture f;

	open_ports(&f, (const uint8_t[PORTS]){ 0xff, 8, 0xff, 8 });
	fixture_run(&f, rnic_settings, 10);
	CHECK(!find_of(&f, "rnic.pfc", "host") && !find_of(&f, "rnic.pfc", "mlx5_0:1"));
	CHECK(find_of(&f, "rnic.pfc", "mlx5_1:1") != NULL);
	CHECK_EQ(find_of(&f, "rnic.pfc", "mlx5_1:1")->ok, TRI_UNKNOWN);
	fixture_close(&f);
}

/* --- env ------------------------------------------------------------------------------------------ */

static void add(struct report *r, const char *check, const char *subject, const char *setting)
{
	struct sample s = finding_sample(check, subject, 1);

	s.unit = xstrdup("1");
	if (setting)
		s.params = json_pack("{s:s}", "setting", setting);
	CHECK_EQ(report_add_sample(r, &s), 0);
}

static const char *env_of(const struct report *r, const char *key)
{
	return json_string_value(json_object_get(r->env, key));
}

static void settings_go_into_the_environment(void)
{
	struct report r = { .env = json_pack("{s:s, s:s}", "kernel", "6.1", "rnic.driver", "kept") };

	add(&r, "rnic.pfc", "mlx5_0:1", "none");
	add(&r, "rnic.mtu", "host", "4096 of 9000");
	add(&r, "rnic.pfc", "mlx5_1:1", "3");
	add(&r, "rnic.pfc", "mlx5_2:1", "3");
	add(&r, "rnic.driver", "host", "mlx5_core");
	add(&r, "rnic.port", "mlx5_0:1", NULL);
	run_report_settings(&r);
	CHECK_STR(env_of(&r, "rnic.pfc"), "3 (2), none (1)");
	CHECK_STR(env_of(&r, "rnic.mtu"), "4096 of 9000");
	CHECK_STR(env_of(&r, "rnic.driver"), "kept");
	CHECK_EQ(json_object_size(r.env), 4);
	report_release(&r);
}

static void a_report_without_settings_is_left_alone(void)
{
	struct report r = { 0 };

	add(&r, "rnic.port", "mlx5_0:1", NULL);
	run_report_settings(&r);
	CHECK(!r.env);
	report_release(&r);
}

static void more_settings_than_anybody_has_are_cut(void)
{
	struct report r = { 0 };
	char name[32], text[32];
	size_t i;

	for (i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "x.check%zu", i / 100);
		(void)snprintf(text, sizeof(text), "value %zu", i);
		add(&r, name, "host", text);
	}
	run_report_settings(&r);
	CHECK(json_object_size(r.env) > 0 && json_object_size(r.env) <= 10);
	CHECK(strlen(env_of(&r, "x.check0")) <= SETTING_TEXT_MAX);
	CHECK_HAS(env_of(&r, "x.check0"), "value 0 (1), value 1 (1)");
	report_release(&r);
}

static const struct test tests[] = {
	TEST(an_answer_is_read),
	TEST(an_answer_without_an_application_table_trusts_pcp),
	TEST(an_error_is_the_devices_own),
	TEST(a_cut_or_spoilt_answer_is_refused_or_read_as_far_as_it_goes),
	TEST(bits_are_told),
	TEST(the_mtu_of_rdma_is_what_fits),
	TEST(ports_that_are_alike_are_one_sample),
	TEST(the_port_that_is_unlike_the_others_is_named),
	TEST(of_two_halves_nobody_is_unlike_most),
	TEST(ports_of_another_model_may_differ),
	TEST(what_a_port_does_not_say_is_no_sample),
	TEST(settings_go_into_the_environment),
	TEST(a_report_without_settings_is_left_alone),
	TEST(more_settings_than_anybody_has_are_cut),
};

TEST_SUITE(tests);
