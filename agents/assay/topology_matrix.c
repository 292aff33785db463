/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/topology_matrix.h"

#include <ctype.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/term.h"
#include "lib/topology/topology.h"

enum { GAP = 2, WORD_SIZE = 16, SENTENCE_MAX = 2048, GPUS_NAMED_MAX = 4 };

struct device {
	const struct topo_node *node;
	char *label;
};

struct devices {
	const struct topology *t;
	struct device *v; /* GPUs, then RNICs */
	size_t n, n_gpus;
};

static void add_devices(struct devices *d, int type)
{
	size_t number = 0, i;

	for (i = 0; i < d->t->n_nodes; i++) {
		const struct topo_node *node = &d->t->nodes[i];
		const char *colon = strchr(node->id, ':');

		if (node->type != type)
			continue;
		d->v[d->n++] = (struct device){
			.node = node,
			.label = type == TOPO_GPU ? xasprintf("GPU%zu", number)
						  : xstrdup(colon ? colon + 1 : node->id),
		};
		number++;
	}
}

static struct devices devices_of(const struct topology *t)
{
	struct devices d = { .t = t, .v = xcalloc(t->n_nodes + 1, sizeof(*d.v)) };

	add_devices(&d, TOPO_GPU);
	d.n_gpus = d.n;
	add_devices(&d, TOPO_RNIC);
	return d;
}

static void devices_release(struct devices *d)
{
	size_t i;

	for (i = 0; i < d->n; i++)
		free(d->v[i].label);
	free(d->v);
}

static bool class_of(const struct devices *d, size_t a, size_t b, enum locality *ret)
{
	return topology_class(d->t, d->v[a].node->id, d->v[b].node->id, ret) == 0;
}

/* Writes "PIX" etc., "X" for a device and itself, "-" if no links join them or a VM hides them. */
static void word_of(const struct devices *d, size_t a, size_t b, char ret[static WORD_SIZE])
{
	enum locality class;
	size_t i;

	if (!class_of(d, a, b, &class) || class == LOCALITY_VIRTUAL)
		(void)snprintf(ret, WORD_SIZE, "-");
	else
		(void)snprintf(ret, WORD_SIZE, "%s",
			       class == LOCALITY_SELF ? "X" : locality_names[class]);
	for (i = 0; ret[i]; i++)
		ret[i] = (char)toupper((unsigned char)ret[i]);
}

/* Returns the number of the device's NUMA node, or "-". */
static const char *numa_of(const struct topology *t, const struct topo_node *node)
{
	enum locality class;
	size_t i;

	for (i = 0; i < t->n_nodes; i++) {
		if (t->nodes[i].type == TOPO_NUMA &&
		    topology_class(t, node->id, t->nodes[i].id, &class) == 0 &&
		    class == LOCALITY_NODE)
			return t->nodes[i].id + strlen("numa:");
	}
	return "-";
}

static int width_of(const struct devices *d)
{
	size_t width = strlen("NODE"), i;

	for (i = 0; i < d->n; i++)
		width = MAX(width, strlen(d->v[i].label));
	return (int)width + GAP;
}

static void print_row(const struct devices *d, size_t row, int width, bool colour, FILE *out)
{
	char word[WORD_SIZE];
	size_t i;

	(void)fprintf(out, "%-*s", width, d->v[row].label);
	for (i = 0; i < d->n; i++) {
		word_of(d, row, i, word);
		/* GPUDirect uses the path from GPU to RNIC: highlight the short ones. */
		const bool is_near = (row < d->n_gpus) != (i < d->n_gpus) &&
				     (streq(word, "PIX") || streq(word, "PXB"));

		(void)fprintf(out, "%s%-*s%s", paint_on(colour && is_near, PAINT_GOOD), width, word,
			      paint_off(colour && is_near));
	}
	(void)fprintf(out, "%-*s%s\n", width, numa_of(d->t, d->v[row].node),
		      d->v[row].node->pci ? d->v[row].node->pci : "");
}

/* --- the sentence --- */

/* Returns how close the GPU's nearest RNIC is, or LOCALITY_VIRTUAL if unknown. */
static enum locality nearest_of(const struct devices *d, size_t gpu)
{
	enum locality best = LOCALITY_VIRTUAL, class;
	size_t i;

	for (i = d->n_gpus; i < d->n; i++) {
		if (class_of(d, gpu, i, &class) && class < best)
			best = class;
	}
	return best;
}

static void name_far(const struct devices *d, const enum locality *nearest, struct strbuf *text)
{
	size_t named = 0, far = 0, i;

	for (i = 0; i < d->n_gpus; i++) {
		far += nearest[i] >= LOCALITY_SYS;
		if (nearest[i] >= LOCALITY_SYS && named < GPUS_NAMED_MAX)
			(void)strbuf_printf(text, "%s%s", named++ ? ", " : "", d->v[i].label);
	}
	if (far > named)
		(void)strbuf_printf(text, " and %zu more", far - named);
	(void)strbuf_printf(text,
			    " ha%s no RNIC on the same socket: GPUDirect traffic crosses sockets.",
			    far == 1 ? "s" : "ve");
}

/* New memory. */
static char *sentence_of(const struct devices *d)
{
	CLEANUP(freep) enum locality *nearest = xcalloc(d->n_gpus + 1, sizeof(*nearest));
	struct strbuf text = STRBUF_INIT(SENTENCE_MAX);
	enum locality worst = LOCALITY_SELF;
	size_t i;

	for (i = 0; i < d->n_gpus; i++) {
		nearest[i] = nearest_of(d, i);
		worst = MAX(worst, nearest[i]);
	}
	if (d->n_gpus == 0 || d->n == d->n_gpus)
		(void)strbuf_puts(&text, d->n_gpus ? "There is no RNIC." : "There is no GPU.");
	else if (d->t->is_virtual)
		(void)strbuf_puts(&text, "This virtual machine hides its PCIe bridges, so how "
					 "close its devices are is unknown.");
	else if (worst >= LOCALITY_SYS)
		name_far(d, nearest, &text);
	else if (worst >= LOCALITY_PHB)
		(void)strbuf_puts(&text, "Each GPU has an RNIC on its own socket, but not all have "
					 "one below the same PCIe switch.");
	else
		(void)strbuf_puts(&text, "Each GPU has an RNIC below the same PCIe root port.");
	return text.data ? text.data : xstrdup("");
}

/* --- both --- */

void topology_matrix(const struct topology *t, bool colour, FILE *out)
{
	CLEANUP(devices_release) struct devices d = devices_of(t);
	CLEANUP(freep) char *sentence = sentence_of(&d);
	const int width = width_of(&d);
	size_t i;

	if (d.n > 0) {
		(void)fprintf(out, "%*s", width, "");
		for (i = 0; i < d.n; i++)
			(void)fprintf(out, "%-*s", width, d.v[i].label);
		(void)fprintf(out, "%-*s%s\n", width, "NUMA", "PCI");
	}
	for (i = 0; i < d.n; i++)
		print_row(&d, i, width, colour, out);
	if (d.n > 0)
		(void)fputs("\nPIX: one PCIe switch between them; PXB: several; PHB: one host "
			    "bridge; NODE: one NUMA node; SYS: across sockets\n",
			    out);
	(void)fprintf(out, "%s\n", sentence);
}
