/* SPDX-License-Identifier: Apache-2.0 */
/* The section `collectives` of controller.yaml. */
#include <errno.h>
#include <stdlib.h>

#include "controller/config/settings_inside.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	PORT_DEFAULT = 7400, /* the first of those that assayd allows */
	PORT_MOST = 65535,
	AT_ONCE_DEFAULT = 32,
	AT_ONCE_MOST = 256,
};

#define TIMEOUT_DEFAULT_US (2 * USEC_PER_MIN)
#define TIMEOUT_LEAST_US USEC_PER_SEC
#define TIMEOUT_MOST_US USEC_PER_HOUR

static const char *const address_names[] = { "auto", "name", "file", NULL };

#define AT(member) offsetof(struct settings_collectives, member)

static const struct jfield fields[] = {
	{ "port", J_U64, AT(port), 0, 1, PORT_MOST },
	{ "address", J_ENUM, AT(address), 0, .names = address_names },
	{ "file", J_STRING, AT(file), 0 },
	{ "label", J_STRING, AT(label), 0 },
	{ "timeout", J_DURATION, AT(timeout_us), 0 },
	{ "at-once", J_U64, AT(at_once), 0, 2, AT_ONCE_MOST },
};

struct settings_collectives settings_collectives_init(void)
{
	return (struct settings_collectives){ .port = PORT_DEFAULT,
					      .timeout_us = TIMEOUT_DEFAULT_US,
					      .at_once = AT_ONCE_DEFAULT };
}

int settings_decode_collectives(const struct jval *v, void *member, struct err *err)
{
	const struct settings_collectives *c = member;
	const struct jval timeout = jval_get(v, "timeout"), address = jval_get(v, "address");
	int r = jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, member, err);

	if (r == 0 && (c->timeout_us < TIMEOUT_LEAST_US || c->timeout_us > TIMEOUT_MOST_US))
		return jval_fail(&timeout, err, "want 1s to 1h");
	if (r == 0 && c->address == COLLECTIVES_BY_FILE && !c->file)
		return jval_fail(&address, err, "file: needs the key file beside it");
	return r;
}

void settings_collectives_release(struct settings_collectives *c)
{
	free(c->file);
	free(c->label);
	*c = (struct settings_collectives){ 0 };
}
