/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include "cli/command.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

void picture_release(struct picture *picture)
{
	json_decref(picture->document);
	*picture = (struct picture){ 0 };
}

static void print_summary(const struct view *view, const struct picture *picture,
			  const struct page *page)
{
	CLEANUP(freep) char *summary = view->summary ? view->summary(picture, page) : NULL;

	if (summary)
		text_wrap(summary, page->out, 0, page->width);
}

static void print_table(const struct view *view, const struct picture *picture, struct page *page,
			bool summary_first)
{
	if (summary_first) {
		print_summary(view, picture, page);
		(void)fputc('\n', page->out);
	}
	view->show(picture, page);
	if (!summary_first)
		print_summary(view, picture, page);
	if (page->cut)
		(void)fprintf(page->out,
			      "%s(cut to %u columns; widen the terminal or use -o kv to see "
			      "everything)%s\n",
			      paint_on(page->colour, PAINT_DIM), page->width,
			      paint_off(page->colour));
}

void view_print(const struct request *request, const struct picture *picture, struct page *page,
		bool summary_first)
{
	switch (request->settings.output) {
	case OUTPUT_JSON:
		print_json(picture->document, page->out, !request->settings.watch_us);
		break;
	case OUTPUT_KV:
		print_kv(picture->document, page->out);
		break;
	case OUTPUT_TABLE:
		print_table(request->command->view, picture, page, summary_first);
		break;
	}
}
