/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/dcb.h"

#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "lib/base/xalloc.h"
#include "probes/rnic_state/netlink.h"

static void read_app(const struct attributes *value, struct dcb *ret)
{
	struct dcb_app app;

	if (value->left < sizeof(app))
		return;
	memcpy(&app, value->at, sizeof(app));
	if (app.selector != IEEE_8021QAZ_APP_SEL_DSCP || app.protocol >= DCB_DSCP_MAX ||
	    app.priority >= IEEE_8021QAZ_MAX_TCS)
		return;
	ret->n_dscp += ret->priority[app.protocol] == DCB_NO_PRIORITY;
	ret->priority[app.protocol] = app.priority;
}

static void read_ieee(struct attributes all, struct dcb *ret)
{
	struct attributes value, app;
	unsigned type;

	while (attributes_next(&all, &type, &value)) {
		if (type == DCB_ATTR_IEEE_PFC && value.left >= sizeof(struct ieee_pfc)) {
			ret->has_pfc = true;
			ret->pfc = value.at[offsetof(struct ieee_pfc, pfc_en)];
		}
		if (type != DCB_ATTR_IEEE_APP_TABLE)
			continue;
		ret->has_apps = true;
		while (attributes_next(&value, &type, &app)) {
			if (type == DCB_ATTR_IEEE_APP)
				read_app(&app, ret);
		}
	}
}

int dcb_decode(const void *bytes, size_t len, struct dcb *ret)
{
	static const uint16_t types[] = { RTM_GETDCB, RTM_SETDCB, 0 };
	struct attributes all, value;
	struct dcb dcb = { .has_pfc = false };
	unsigned type;
	int r = answer_open(bytes, len, types, sizeof(struct dcbmsg), &all);

	if (r < 0)
		return r;
	memset(dcb.priority, DCB_NO_PRIORITY, sizeof(dcb.priority));
	while (attributes_next(&all, &type, &value)) {
		if (type == DCB_ATTR_IEEE)
			read_ieee(value, &dcb);
	}
	*ret = dcb;
	return 0;
}

int dcb_ask(const char *netdev, struct dcb *ret)
{
	const struct dcbmsg header = { .dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET };
	CLEANUP(freep) void *answer = xcalloc(1, NETLINK_ANSWER_MAX);
	struct question q;
	int r;

	question_begin(&q, RTM_GETDCB, 0, &header, sizeof(header));
	question_put(&q, DCB_ATTR_IFNAME, netdev, strnlen(netdev, IF_NAMESIZE - 1) + 1);
	r = netlink_ask(NETLINK_ROUTE, &q, answer);
	return r < 0 ? r : dcb_decode(answer, (size_t)r, ret);
}
