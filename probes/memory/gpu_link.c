/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_link.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/memory/gpu_device.h"

static char *line_of(const struct gpu_device *d, const char *name)
{
	return sys_line("/sys/bus/pci/devices/%s/%s", d->info.pci, name);
}

/* The leading number of "16.0 GT/s PCIe" or "16"; 0: unknown. */
static double number_of(const struct gpu_device *d, const char *name)
{
	CLEANUP(freep) char *line = line_of(d, name);

	return line ? fmax(strtod(line, NULL), 0) : 0;
}

/* The maximum of both ends of the link; the parent port is the parent directory in sysfs. */
static double most_of(const struct gpu_device *d, const char *name, const char *above,
		      bool *ret_sure)
{
	const double own = number_of(d, name), other = number_of(d, above);

	*ret_sure = *ret_sure && other > 0;
	return other > 0 ? fmin(own, other) : own;
}

void gpu_link_look(struct gpu_device *d)
{
	struct gpu_pcie *p = &d->pcie;

	*p = (struct gpu_pcie){ .sure = true };
	/* Copies over C2C do not use PCIe. */
	if (d->info.c2c)
		return;
	p->gts = number_of(d, "current_link_speed");
	p->width = number_of(d, "current_link_width");
	p->max_gts = most_of(d, "max_link_speed", "../max_link_speed", &p->sure);
	p->max_width = most_of(d, "max_link_width", "../max_link_width", &p->sure);
}

double gpu_link_part(const struct gpu_device *d)
{
	const struct gpu_pcie *p = &d->pcie;

	if (!(p->gts > 0 && p->width > 0 && p->max_gts > 0 && p->max_width > 0))
		return NAN;
	return fmin(p->gts / p->max_gts, 1) * fmin(p->width / p->max_width, 1);
}

char *gpu_link_words(const struct gpu_device *d)
{
	const struct gpu_pcie *p = &d->pcie;

	return xasprintf("its PCIe link ran at %.3g GT/s x%.0f during the test, but can run at "
			 "%.3g GT/s x%.0f",
			 p->gts, p->width, p->max_gts, p->max_width);
}

/* If the port above is not visible, it may be the slower end. */
static void judge(const struct gpu_device *d, struct sample *s)
{
	if (!(s->value < 1)) {
		s->ok = TRI_YES;
		return;
	}
	s->note = gpu_link_words(d);
	s->code = xstrdup(d->pcie.width < d->pcie.max_width ? "pcie-width" : "pcie-speed");
	if (!d->pcie.sure)
		return;
	s->ok = TRI_NO;
	s->severity = SEVERITY_WARN;
}

int gpu_link_emit(const struct gpu_device *d)
{
	const struct gpu_plan *plan = d->plan;
	struct sample s = sample_init();
	int r;

	s.value = gpu_link_part(d);
	if (isnan(s.value) || !gpu_live(d))
		return 0;
	s.check = xstrdup("memory.pcie_link");
	s.subject = xstrdup(d->info.subject);
	s.unit = xstrdup("1");
	s.better = BETTER_NONE;
	s.n = 1;
	s.params = json_pack("{s:f, s:i}", "max_gts", d->pcie.max_gts, "max_width",
			     (int)d->pcie.max_width);
	judge(d, &s);
	r = plan->emit(plan->context, &s);
	return r < 0 ? r : 0;
}
