/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/checklist_clock.h"

#include <stdlib.h>

#include "lib/net/http_date.h"
#include "lib/net/http_once.h"
#include "lib/sys/checklist.h"

/*
 * Clock offsets that are reported, and that are bad: certificates and reports are dated by clocks.
 */
#define CLOCK_WARN_S 5
#define CLOCK_BAD_S 60

void checklist_clock(struct checklist *list, const struct http_once *answer)
{
	long long ahead;

	if (!http_date_ahead(answer->wanted, answer->asked_us, answer->answered_us, &ahead))
		return;
	if (llabs(ahead) <= CLOCK_WARN_S)
		checklist_say(list, CHECK_OK, "clock", "as the controller's");
	else
		checklist_say(
			list, llabs(ahead) > CLOCK_BAD_S ? CHECK_BAD : CHECK_WARN, "clock",
			"%lld s %s the controller's: start chrony or systemd-timesyncd on both",
			llabs(ahead), ahead > 0 ? "ahead of" : "behind");
}
