/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/reading.h"

enum {
	PRIORITIES = 8,
	/* GRH, UDP, BTH, XRC and atomic headers, ICRC: include/rdma/ib_addr.h, iboe_get_mtu(). */
	RDMA_HEADERS = 40 + 8 + 12 + 4 + 28 + 4,
	RDMA_MTU_MIN = 256,
	RDMA_MTU_MAX = 4096,
	NETDEV_MTU_WANTED = 4200,
};

/* One setting of one port. */
struct setting {
	bool there;
	char text[SETTING_TEXT_SIZE];
	double value; /* 1 if it is only text */
};

/* --- texts, pure ------------------------------------------------------------------------ */

void say_bits(unsigned bits, char *to, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SETTING_TEXT_SIZE);
	unsigned i;

	for (i = 0; i < PRIORITIES; i++) {
		if (bits >> i & 1)
			(void)strbuf_printf(&text, "%s%u", text.len ? "," : "", i);
	}
	(void)snprintf(to, size, "%s", text.len ? strbuf_text(&text) : "none");
}

void say_trust(const struct dcb *dcb, char *to, size_t size)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SETTING_TEXT_SIZE);
	unsigned i;

	(void)strbuf_puts(&text, dcb->n_dscp ? "dscp" : "pcp");
	for (i = 0; i < DCB_DSCP_MAX && dcb->n_dscp; i++) {
		if (dcb->priority[i] != DCB_NO_PRIORITY)
			(void)strbuf_printf(&text, " %u:%u", i, dcb->priority[i]);
	}
	(void)snprintf(to, size, "%s", strbuf_text(&text));
}

unsigned rdma_mtu(unsigned long long netdev_mtu)
{
	unsigned mtu = RDMA_MTU_MAX;

	while (mtu >= RDMA_MTU_MIN && mtu + (unsigned long long)RDMA_HEADERS > netdev_mtu)
		mtu /= 2;
	return mtu >= RDMA_MTU_MIN ? mtu : 0;
}

/* --- reading a setting of a port -------------------------------------------------------- */

static void set(struct setting *s, double value, const char *text)
{
	s->there = true;
	s->value = value;
	(void)snprintf(s->text, sizeof(s->text), "%s", text);
}

static void set_file(struct setting *s, const char *text)
{
	char *end = NULL;
	double value = text ? strtod(text, &end) : 1;

	if (text && *text)
		set(s, *end == '\0' && isfinite(value) ? value : 1, text);
}

static void read_pfc(struct rnic_state *state, const struct port *port, struct setting *s)
{
	struct dcb dcb;
	char text[SETTING_TEXT_SIZE];

	if (state->nic->dcb(state->nic->context, port->netdev, &dcb) < 0 || !dcb.has_pfc)
		return;
	say_bits(dcb.pfc, text, sizeof(text));
	set(s, dcb.pfc, text);
}

static void read_trust(struct rnic_state *state, const struct port *port, struct setting *s)
{
	struct dcb dcb;
	char text[SETTING_TEXT_SIZE];

	if (state->nic->dcb(state->nic->context, port->netdev, &dcb) < 0 || !dcb.has_apps)
		return;
	say_trust(&dcb, text, sizeof(text));
	set(s, dcb.n_dscp, text);
}

/* The priorities with ECN enabled, on side "roce_np" (receiver) or "roce_rp" (sender). */
static bool read_ecn_side(const struct port *port, const char *side, unsigned *ret_bits)
{
	bool there = false;
	uint64_t on;
	unsigned i;

	*ret_bits = 0;
	for (i = 0; i < PRIORITIES; i++) {
		if (!sys_u64(&on, "/sys/class/net/%s/ecn/%s/enable/%u", port->netdev, side, i))
			continue;
		there = true;
		*ret_bits |= (on ? 1U : 0U) << i;
	}
	return there;
}

static void read_ecn(struct rnic_state *state UNUSED, const struct port *port, struct setting *s)
{
	char np_text[SETTING_TEXT_SIZE / 4], rp_text[SETTING_TEXT_SIZE / 4];
	char text[SETTING_TEXT_SIZE];
	unsigned np, rp;
	bool has_np = read_ecn_side(port, "roce_np", &np);
	bool has_rp = read_ecn_side(port, "roce_rp", &rp);

	if (!has_np && !has_rp)
		return;
	say_bits(np, np_text, sizeof(np_text));
	say_bits(rp, rp_text, sizeof(rp_text));
	(void)snprintf(text, sizeof(text), "receiver %s sender %s", np_text, rp_text);
	set(s, np & rp, text);
}

/* "NAME=VALUE ..." for the single-value files in a directory; others are left out. */
static void add_files(const char *dir, struct strbuf *to)
{
	CLEANUP(strv_freep) char **names = sys_list(dir, "");
	size_t i;

	for (i = 0; names && names[i]; i++) {
		uint64_t value;

		if (sys_u64(&value, "%s/%s", dir, names[i]))
			(void)strbuf_printf(to, "%s%s=%llu", to->len ? " " : "", names[i],
					    (unsigned long long)value);
	}
}

static void read_dcqcn(struct rnic_state *state UNUSED, const struct port *port, struct setting *s)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SETTING_TEXT_SIZE);
	CLEANUP(freep) char *np = xasprintf("/sys/class/net/%s/ecn/roce_np", port->netdev);
	CLEANUP(freep) char *rp = xasprintf("/sys/class/net/%s/ecn/roce_rp", port->netdev);
	CLEANUP(freep)
	char *debug = xasprintf("/sys/kernel/debug/mlx5/%s/cc_params", port->pci);

	if (port->netdev[0]) {
		add_files(np, &text);
		add_files(rp, &text);
	}
	if (port->pci[0])
		add_files(debug, &text);
	if (text.len)
		set(s, 1, strbuf_text(&text));
}

static void read_adaptive(struct rnic_state *state UNUSED, const struct port *port,
			  struct setting *s)
{
	CLEANUP(freep)
	char *port_file = sys_line("/sys/class/infiniband/%s/ports/%u/roce_adp_retrans_en",
				   port->device, port->number);
	CLEANUP(freep)
	char *debug_file = sys_line("/sys/kernel/debug/mlx5/%s/roce_adp_retrans_en", port->pci);

	set_file(s, port_file ? port_file : debug_file);
}

static void read_traffic_class(struct rnic_state *state UNUSED, const struct port *port,
			       struct setting *s)
{
	CLEANUP(freep)
	char *text = sys_line("/sys/class/infiniband/%s/tc/%u/traffic_class", port->device,
			      port->number);

	set_file(s, text);
}

static void read_cm_tos(struct rnic_state *state UNUSED, const struct port *port, struct setting *s)
{
	CLEANUP(freep)
	char *text = sys_line("/sys/kernel/config/rdma_cm/%s/ports/%u/default_roce_tos",
			      port->device, port->number);

	set_file(s, text);
}

static void read_firmware(struct rnic_state *state UNUSED, const struct port *port,
			  struct setting *s)
{
	if (port->firmware[0] && !port->software)
		set(s, 1, port->firmware);
}

static void read_driver(struct rnic_state *state, const struct port *port, struct setting *s)
{
	struct nic_driver driver = { .driver = "" };
	char text[2 * NIC_TEXT_SIZE + 2];

	if (state->nic->driver(state->nic->context, port->netdev, &driver) < 0)
		return;
	(void)snprintf(text, sizeof(text), "%s %s", driver.driver, driver.version);
	set(s, 1, text);
}

static void read_correction(struct rnic_state *state, const struct port *port, struct setting *s)
{
	char text[NIC_TEXT_SIZE];

	if (state->nic->correction(state->nic->context, port->netdev, text) == 0)
		set(s, 1, text);
}

static void read_pause(struct rnic_state *state, const struct port *port, struct setting *s)
{
	bool rx, tx;

	if (state->nic->pause(state->nic->context, port->netdev, &rx, &tx) == 0)
		set(s, rx + 2 * tx, rx && tx ? "rx tx" : rx ? "rx" : tx ? "tx" : "off");
}

static void read_mtu(struct rnic_state *state UNUSED, const struct port *port, struct setting *s)
{
	char text[SETTING_TEXT_SIZE];
	uint64_t mtu;

	if (!port->ethernet || !port->netdev[0] ||
	    !sys_u64(&mtu, "/sys/class/net/%s/mtu", port->netdev))
		return;
	(void)snprintf(text, sizeof(text), "%u of %llu", rdma_mtu(mtu), (unsigned long long)mtu);
	set(s, rdma_mtu(mtu), text);
}

/* --- reporting -------------------------------------------------------------------------- */

struct reader {
	const char *check, *words;
	void (*read)(struct rnic_state *state, const struct port *port, struct setting *s);
	bool by_netdev; /* read from the network device */
	/* Returns the message of a value that is a finding by itself, or NULL. May be NULL. */
	const char *(*finds)(const struct setting *s);
	const char *code;
};

static const char *finds_mtu(const struct setting *s)
{
	return s->value < RDMA_MTU_MAX
		       ? "; packets of 4096 bytes need an MTU of 4200 on the network device"
		       : NULL;
}

static const struct reader readers[] = {
	{ "rnic.pfc", "priorities that pause (PFC)", read_pfc, true, NULL, NULL },
	{ "rnic.trust", "trusts", read_trust, true, NULL, NULL },
	{ "rnic.ecn", "priorities with ECN", read_ecn, true, NULL, NULL },
	{ "rnic.dcqcn", "DCQCN", read_dcqcn, false, NULL, NULL },
	{ "rnic.adaptive_retransmission", "adaptive retransmission", read_adaptive, false, NULL,
	  NULL },
	{ "rnic.traffic_class", "traffic class", read_traffic_class, false, NULL, NULL },
	{ "rnic.cm_tos", "type of service of rdma_cm", read_cm_tos, false, NULL, NULL },
	{ "rnic.mtu", "MTU of RDMA and of the network device", read_mtu, true, finds_mtu,
	  "mtu-small" },
	{ "rnic.firmware", "firmware", read_firmware, false, NULL, NULL },
	{ "rnic.driver", "driver", read_driver, true, NULL, NULL },
	{ "rnic.correction", "error correction (FEC)", read_correction, true, NULL, NULL },
	{ "rnic.global_pause", "global pause", read_pause, true, NULL, NULL },
};

/* Ports of the same model should have equal settings: how many equal that of `which`. */
static size_t count_like(const struct ports *ports, const struct setting *all, size_t which)
{
	size_t n = 0, i;

	for (i = 0; i < ports->n; i++)
		n += all[i].there && streq(ports->all[i].model, ports->all[which].model) &&
		     streq(all[i].text, all[which].text);
	return n;
}

static size_t count_there(const struct ports *ports, const struct setting *all, const char *model)
{
	size_t n = 0, i;

	for (i = 0; i < ports->n; i++)
		n += all[i].there && (!model || streq(ports->all[i].model, model));
	return n;
}

static int emit_setting(struct rnic_state *state, const struct reader *reader, const char *subject,
			const struct setting *s, const char *apart)
{
	const char *found = reader->finds ? reader->finds(s) : NULL;
	struct sample sample = finding_sample(reader->check, subject, s->value);

	sample.params = json_pack("{s:s}", "setting", s->text);
	if (!found && !apart)
		return rnic_emit(state, &sample, FINDING_NOTE, "%s: %s", reader->words, s->text);
	sample.code = xstrdup(found ? reader->code : "unlike-others");
	return rnic_emit(state, &sample, FINDING_INFO, "%s: %s%s%s", reader->words, s->text,
			 found ? found : "", apart ? apart : "");
}

/* Emit one sample if all ports agree, otherwise one per port. */
static int tell(struct rnic_state *state, const struct reader *reader, const struct setting *all)
{
	const struct ports *ports = state->ports;
	size_t n = count_there(ports, all, NULL), i;
	bool alike = true;
	int r = 0;

	for (i = 0; i < ports->n; i++)
		alike = alike && (!all[i].there || streq(all[i].text, all[0].text));
	if (n == ports->n && alike && n > 0)
		return emit_setting(state, reader, "host", &all[0], NULL);
	for (i = 0; i < ports->n && r == 0; i++) {
		size_t like = count_like(ports, all, i);
		size_t of = count_there(ports, all, ports->all[i].model);

		if (all[i].there)
			r = emit_setting(state, reader, ports->all[i].subject, &all[i],
					 2 * like < of ? ", unlike most ports of its model" : NULL);
	}
	return r;
}

/* ECN-marked packets arrived, but no sender was told to slow down. */
static int check_cnp(struct rnic_state *state, const struct port *port)
{
	uint64_t marked, sent;
	struct sample s;

	if (!counter_growth(state, port, "np_ecn_marked_roce_packets", &marked) ||
	    !counter_growth(state, port, "np_cnp_sent", &sent) || marked == 0)
		return 0;
	s = finding_sample("rnic.ecn_answered", port->subject, (double)sent);
	if (sent > 0)
		return rnic_emit(
			state, &s, FINDING_GOOD,
			"%llu packets arrived with a congestion mark, %llu notifications were sent",
			(unsigned long long)marked, (unsigned long long)sent);
	s.code = xstrdup("ecn-not-answered");
	return rnic_emit(
		state, &s, FINDING_WARN,
		"%llu packets arrived with a congestion mark but no notification was sent: "
		"ECN is off at the receiver (roce_np)",
		(unsigned long long)marked);
}

int rnic_settings(struct rnic_state *state)
{
	CLEANUP(freep) struct setting *all = xcalloc(state->ports->n + 1, sizeof(*all));
	size_t i, k;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(readers) && r == 0; i++) {
		memset(all, 0, (state->ports->n + 1) * sizeof(*all));
		for (k = 0; k < state->ports->n; k++) {
			const struct port *port = &state->ports->all[k];

			if (port->netdev[0] || !readers[i].by_netdev)
				readers[i].read(state, port, &all[k]);
		}
		r = tell(state, &readers[i], all);
	}
	for (k = 0; k < state->ports->n && r == 0; k++)
		r = check_cnp(state, &state->ports->all[k]);
	return r;
}
