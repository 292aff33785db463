/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces alert_sender_http.c in builds without libcurl. */
#include <errno.h>

#include "controller/alerts/alert_sender_http.h"
#include "lib/base/err.h"

static int check(struct err *err)
{
	return err_set(err, EINVAL,
		       "alertmanagers: this build has no libcurl: build it with libcurl");
}

static int open_sender(struct sd_event *loop UNUSED, const struct settings_alertmanager *to UNUSED,
		       void **ret UNUSED, struct err *err)
{
	return check(err);
}

static int post(void *sender UNUSED, const char *body UNUSED, alert_sent_fn *done UNUSED,
		void *context UNUSED, struct err *err)
{
	return check(err);
}

static void close_sender(void *sender UNUSED)
{
}

const struct alert_sender alert_sender_http = {
	.check = check, .open = open_sender, .post = post, .close = close_sender
};
