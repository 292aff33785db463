/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_message.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/rnic_pair/pair_gpu.h"

enum {
	MTU_MAX = 4096,
	PORT_MAX = 255,
};

/* JSON integers have 63 bits; user space addresses are smaller. */
#define ADDRESS_MAX 0x1p62

static const char *const kind_names[] = {
	[PAIR_HELLO] = "hello",	  [PAIR_OPEN] = "open",	  [PAIR_OFFER] = "offer",
	[PAIR_FAILED] = "failed", [PAIR_READY] = "ready", [PAIR_TRIED] = "tried",
	[PAIR_RATES] = "rates",	  [PAIR_FINAL] = "final", [PAIR_ACK] = "ack",
	[PAIR_BYE] = "bye",	  [PAIR_KINDS] = NULL,
};

bool pair_is_name(const char *text, size_t max)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t length = strlen(text);

	return length > 0 && length <= max && strspn(text, allowed) == length;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *hex_encode(const unsigned char *bytes, size_t n)
{
	char *text = xcalloc(2 * n + 1, 1);
	size_t i;

	for (i = 0; i < n; i++)
		(void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

static int decode_hex(const struct jval *v, unsigned char *ret, size_t n, struct err *err)
{
	const char *text = json_string_value(v->value);
	size_t i;

	if (!text || strlen(text) != 2 * n)
		return jval_fail(v, err, "expected %zu hexadecimal digits", 2 * n);
	for (i = 0; i < n; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return jval_fail(v, err, "expected %zu hexadecimal digits", 2 * n);
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return 0;
}

/* --- ends and offers --- */

/* As JSON numbers; the members of rdma_end are narrower. */
struct end_numbers {
	uint64_t number, psn, lid, mtu;
};
static const struct jfield end_fields[] = {
	{ "qp", J_U64, offsetof(struct end_numbers, number), J_REQUIRED, .max = 0xffffff },
	{ "psn", J_U64, offsetof(struct end_numbers, psn), J_REQUIRED, .max = 0xffffff },
	{ "lid", J_U64, offsetof(struct end_numbers, lid), J_REQUIRED, .max = 0xffff },
	{ "mtu", J_U64, offsetof(struct end_numbers, mtu), J_REQUIRED, .min = 256, .max = MTU_MAX },
};

static int decode_end(const struct jval *v, struct rdma_end *ret, struct err *err)
{
	struct jval gid = jval_get(v, "gid");
	struct end_numbers n = { 0 };
	int r = jval_decode(v, end_fields, ARRAY_SIZE(end_fields), 0, &n, err);

	if (r == 0)
		r = decode_hex(&gid, ret->gid, sizeof(ret->gid), err);
	ret->number = (uint32_t)n.number;
	ret->psn = (uint32_t)n.psn;
	ret->lid = (uint16_t)n.lid;
	ret->mtu = (unsigned)n.mtu;
	return r;
}

static json_t *encode_end(const struct rdma_end *end)
{
	const struct end_numbers n = { end->number, end->psn, end->lid, end->mtu };
	CLEANUP(freep) char *gid = hex_encode(end->gid, sizeof(end->gid));
	json_t *object = jval_encode(end_fields, ARRAY_SIZE(end_fields), &n);

	json_object_set_new(object, "gid", json_string(gid));
	return object;
}

struct offer_numbers {
	uint64_t layer, address, rkey, bytes;
	int way;
};
static const struct jfield offer_fields[] = {
	{ "layer", J_U64, offsetof(struct offer_numbers, layer), J_REQUIRED,
	  .max = RDMA_INFINIBAND },
	{ "address", J_U64, offsetof(struct offer_numbers, address), J_REQUIRED,
	  .max = ADDRESS_MAX },
	{ "rkey", J_U64, offsetof(struct offer_numbers, rkey), J_REQUIRED, .max = UINT32_MAX },
	{ "bytes", J_U64, offsetof(struct offer_numbers, bytes), J_REQUIRED, .max = ADDRESS_MAX },
	{ "memory", J_ENUM, offsetof(struct offer_numbers, way), 0, .names = pair_way_names },
};

int pair_offer_decode(const struct jval *v, struct pair_offer *ret, struct err *err)
{
	struct jval gid = jval_get(v, "gid"), subnet = jval_get(v, "subnet");
	struct jval ends = jval_get(v, "ends");
	struct offer_numbers n = { .way = PAIR_WAY_OLDER };
	int r = jval_decode(v, offer_fields, ARRAY_SIZE(offer_fields), 0, &n, err);
	size_t i;

	if (r == 0)
		r = decode_hex(&gid, ret->gid, sizeof(ret->gid), err);
	if (r == 0)
		r = decode_hex(&subnet, ret->subnet, sizeof(ret->subnet), err);
	if (r == 0)
		r = jval_need_array(&ends, err);
	if (r < 0)
		return r;
	ret->n = json_array_size(ends.value);
	if (ret->n < 1 || ret->n > FLOW_QUEUES_MAX)
		return jval_fail(&ends, err, "expected 1 to %d", FLOW_QUEUES_MAX);
	for (i = 0; r == 0 && i < ret->n; i++) {
		struct jval end = jval_at(&ends, i);

		r = decode_end(&end, &ret->ends[i], err);
	}
	ret->layer = (int)n.layer;
	ret->address = n.address;
	ret->rkey = (uint32_t)n.rkey;
	ret->bytes = n.bytes;
	ret->way = n.way;
	return r;
}

json_t *pair_offer_encode(const struct pair_offer *offer)
{
	const struct offer_numbers n = { (uint64_t)offer->layer, offer->address, offer->rkey,
					 offer->bytes, MAX(offer->way, 0) };
	CLEANUP(freep) char *gid = hex_encode(offer->gid, sizeof(offer->gid));
	CLEANUP(freep) char *subnet = hex_encode(offer->subnet, sizeof(offer->subnet));
	json_t *object = jval_encode(offer_fields, ARRAY_SIZE(offer_fields), &n);
	json_t *ends = json_array();
	size_t i;

	for (i = 0; i < offer->n; i++)
		json_array_append_new(ends, encode_end(&offer->ends[i]));
	json_object_set_new(object, "gid", json_string(gid));
	json_object_set_new(object, "subnet", json_string(subnet));
	json_object_set_new(object, "ends", ends);
	return object;
}

/* --- members of messages --- */

static int custom_offer(const struct jval *v, void *member, struct err *err)
{
	return pair_offer_decode(v, member, err);
}

static json_t *custom_offer_encode(const void *member)
{
	return pair_offer_encode(member);
}

static int decode_rails(const struct jval *v, struct pair_message *m, struct err *err)
{
	size_t i;
	int r = jval_need_array(v, err);

	if (r < 0)
		return r;
	m->n_rails = json_array_size(v->value);
	if (m->n_rails > PAIR_PORTS_MAX)
		return jval_fail(v, err, "more than %d ports", PAIR_PORTS_MAX);
	for (i = 0; i < m->n_rails; i++) {
		struct jval rail = jval_at(v, i), device = jval_get(&rail, "device");
		struct jval port = jval_get(&rail, "port");
		const char *name = json_string_value(device.value);
		json_int_t number = json_integer_value(port.value);

		if (!name || !pair_is_name(name, RDMA_NAME_SIZE - 1))
			return jval_fail(&device, err, "expected the name of a device");
		if (!json_is_integer(port.value) || number < 1 || number > PORT_MAX)
			return jval_fail(&port, err, "expected the number of a port");
		(void)snprintf(m->rails[i].device, RDMA_NAME_SIZE, "%s", name);
		m->rails[i].port = (unsigned)number;
	}
	return 0;
}

static json_t *encode_rails(const struct pair_message *m)
{
	json_t *rails = json_array();
	size_t i;

	for (i = 0; i < m->n_rails; i++)
		json_array_append_new(rails, json_pack("{s:s, s:i}", "device", m->rails[i].device,
						       "port", (int)m->rails[i].port));
	return rails;
}

static int decode_samples(const struct jval *v, size_t least, struct pair_message *m,
			  struct err *err)
{
	int r = jval_need_array(v, err);
	size_t n, i;

	if (r < 0)
		return r;
	n = json_array_size(v->value);
	if (n < least || n > ARRAY_SIZE(m->samples))
		return jval_fail(v, err, "expected %zu to %zu samples", least,
				 ARRAY_SIZE(m->samples));
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = sample_decode(&item, &m->samples[i], err);
		m->n_samples += r == 0;
	}
	return r;
}

#define AT(member) offsetof(struct pair_message, member)

static const struct jfield hello_fields[] = {
	{ "node", J_STRING, AT(node), J_REQUIRED },
	{ "size", J_U64, AT(size), J_REQUIRED, .min = 8, .max = RDMA_SIZE_MAX },
	{ "qps", J_U64, AT(qps), J_REQUIRED, .min = 1, .max = FLOW_QUEUES_MAX },
	{ "depth", J_U64, AT(depth), J_REQUIRED, .min = 1, .max = RDMA_DEPTH_MAX },
	{ "mtu", J_U64, AT(mtu), J_REQUIRED, .max = MTU_MAX },
	{ "connect_only", J_BOOL, AT(connect_only), J_REQUIRED },
	{ "budget_us", J_U64, AT(budget_us), J_REQUIRED, .max = PAIR_BUDGET_MAX_S * 1e6 },
	{ "memory", J_ENUM, AT(memory), 0, .names = pair_memory_names },
};
static const struct jfield open_fields[] = {
	{ "rail", J_U64, AT(rail), J_REQUIRED, .max = PAIR_PORTS_MAX - 1 },
	{ "forth", J_BOOL, AT(forth), J_REQUIRED },
	{ "rates", J_BOOL, AT(rates), J_REQUIRED },
	{ "mtu", J_U64, AT(mtu), J_REQUIRED, .max = MTU_MAX },
	{ "step_us", J_U64, AT(step_us), J_REQUIRED, .max = PAIR_STEP_MAX_S * 1e6 },
	{ "offer", J_CUSTOM, AT(offer), J_REQUIRED, .decode = custom_offer,
	  .encode = custom_offer_encode },
};
static const struct jfield offered_fields[] = {
	{ "offer", J_CUSTOM, AT(offer), J_REQUIRED, .decode = custom_offer,
	  .encode = custom_offer_encode },
};
static const struct jfield outcome_fields[] = {
	{ "state", J_ENUM, AT(state), J_REQUIRED, .names = sample_state_names },
	{ "ok", J_TRISTATE, AT(ok), J_NULL },
	{ "lost_full", J_BOOL, AT(lost_full), J_REQUIRED },
	{ "note", J_STRING, AT(note), J_REQUIRED },
};
#define WRITTEN_FIELDS                                                        \
	{ "requests", J_U64, AT(written.requests), 0, .max = ADDRESS_MAX },   \
		{ "bytes", J_U64, AT(written.bytes), 0, .max = ADDRESS_MAX }, \
	{                                                                     \
		"resends", J_U64, AT(written.resends), 0, .max = ADDRESS_MAX  \
	}
static const struct jfield rates_fields[] = { WRITTEN_FIELDS };
static const struct jfield final_fields[] = {
	{ "rail", J_U64, AT(rail), J_REQUIRED, .max = PAIR_PORTS_MAX - 1 },
	{ "forth", J_BOOL, AT(forth), J_REQUIRED },
	WRITTEN_FIELDS,
};
static const struct jfield ack_fields[] = {
	{ "note", J_STRING, AT(note), 0 },
};

static const struct {
	const struct jfield *fields;
	size_t n;
	size_t samples; /* minimum number */
} kinds[PAIR_KINDS] = {
	[PAIR_HELLO] = { hello_fields, ARRAY_SIZE(hello_fields), 0 },
	[PAIR_OPEN] = { open_fields, ARRAY_SIZE(open_fields), 0 },
	[PAIR_OFFER] = { offered_fields, ARRAY_SIZE(offered_fields), 0 },
	[PAIR_FAILED] = { outcome_fields, ARRAY_SIZE(outcome_fields), 0 },
	[PAIR_TRIED] = { outcome_fields, ARRAY_SIZE(outcome_fields), 0 },
	[PAIR_RATES] = { rates_fields, ARRAY_SIZE(rates_fields), 2 },
	[PAIR_FINAL] = { final_fields, ARRAY_SIZE(final_fields), 1 },
	[PAIR_ACK] = { ack_fields, ARRAY_SIZE(ack_fields), 0 },
};

struct pair_message pair_message_init(int kind)
{
	struct pair_message m = { .kind = kind, .ok = TRI_UNKNOWN };

	m.samples[0] = sample_init();
	m.samples[1] = sample_init();
	return m;
}

void pair_message_release(struct pair_message *m)
{
	free(m->node);
	free(m->note);
	sample_release(&m->samples[0]);
	sample_release(&m->samples[1]);
	m->node = m->note = NULL;
}

int pair_kind_decode(const struct jval *root, const char *const *names, int n, int *ret,
		     struct err *err)
{
	struct jval v = jval_get(root, "v"), kind = jval_get(root, "kind");
	const char *name = json_string_value(kind.value);
	int i;

	if (json_integer_value(v.value) != 1)
		return jval_fail(&v, err, "expected version 1");
	for (i = 0; name && i < n; i++) {
		if (!streq(name, names[i]))
			continue;
		*ret = i;
		return 0;
	}
	return jval_fail(&kind, err, "expected the kind of a message");
}

static int decode(const struct jval *root, struct pair_message *m, struct err *err)
{
	struct jval node = jval_get(root, "node"), rails = jval_get(root, "rails");
	struct jval note = jval_get(root, "note"), samples = jval_get(root, "samples");
	int r = pair_kind_decode(root, kind_names, PAIR_KINDS, &m->kind, err);

	if (r == 0 && kinds[m->kind].n > 0)
		r = jval_decode(root, kinds[m->kind].fields, kinds[m->kind].n, 0, m, err);
	if (r == 0 && m->node && !pair_is_name(m->node, PAIR_NAME_MAX))
		r = jval_fail(&node, err, "expected the name of a node");
	if (r == 0 && m->note && strlen(m->note) >= PAIR_NOTE_SIZE)
		r = jval_fail(&note, err, "longer than %d bytes", PAIR_NOTE_SIZE - 1);
	if (r == 0 && m->kind == PAIR_HELLO)
		r = decode_rails(&rails, m, err);
	if (r == 0 && kinds[m->kind].samples > 0)
		r = decode_samples(&samples, kinds[m->kind].samples, m, err);
	return r;
}

int pair_message_decode(const char *text, size_t length, struct pair_message *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct pair_message m = pair_message_init(PAIR_BYE);
	struct jval root;
	int r = json_parse(text, length, "message", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "message");
	r = jval_need_object(&root, err);
	if (r == 0)
		r = decode(&root, &m, err);
	if (r < 0) {
		pair_message_release(&m);
		return r;
	}
	*ret = m;
	return 0;
}

char *pair_message_encode(const struct pair_message *m)
{
	CLEANUP(json_freep)
	json_t *object = kinds[m->kind].n ? jval_encode(kinds[m->kind].fields, kinds[m->kind].n, m)
					  : json_object();
	size_t i;

	json_object_set_new(object, "v", json_integer(1));
	json_object_set_new(object, "kind", json_string(kind_names[m->kind]));
	if (m->kind == PAIR_HELLO)
		json_object_set_new(object, "rails", encode_rails(m));
	if (kinds[m->kind].samples > 0) {
		json_t *samples = json_array();

		for (i = 0; i < m->n_samples; i++)
			json_array_append_new(samples, sample_encode(&m->samples[i]));
		json_object_set_new(object, "samples", samples);
	}
	return json_line(object);
}
