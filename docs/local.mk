# SPDX-License-Identifier: Apache-2.0
# docs: tutorials, concepts and the index; Makefile.am lists the other pages. Included by Makefile.am.
tutorialsdir = $(docdir)/tutorials
dist_tutorials_DATA = docs/tutorials/bare-metal.md docs/tutorials/kubernetes.md docs/tutorials/laptop.md
conceptsdir = $(docdir)/concepts
dist_concepts_DATA = docs/concepts/baselines.md docs/concepts/budgets.md docs/concepts/incidents.md docs/concepts/life-cycle.md docs/concepts/verdicts.md
pagepicturesdir = $(docdir)/page
dist_pagepictures_DATA = docs/page/cordon-dark.png docs/page/fleet-light.png docs/page/fleet-phone.png docs/page/hang-dark.png docs/page/hang-light.png \
	docs/page/hang-phone.png docs/page/hang-print.png docs/page/host-dark.png docs/page/host-light.png \
	docs/page/host-print.png docs/page/job-light.png
dist_doc_DATA += docs/commands.md docs/glossary.md docs/host-state.md docs/limits.md docs/nccl-plugin.md docs/operations.md docs/page.md docs/status.md
dist_man_MANS += docs/man/assayd.yaml.5 docs/man/assay-controller.yaml.5 docs/man/assay-tokens.yaml.5 docs/man/assay-policy.5 docs/man/assay-data.5
EXTRA_DIST += docs/README.md docs/installed.sed

# There are two README.md: that of docs is installed as index.md, since all pages share a folder. Called by install-data-hook, after the others.
install-docs:
	$(INSTALL_DATA) $(srcdir)/docs/README.md "$(DESTDIR)$(docdir)/index.md"
	@for f in "$(DESTDIR)$(docdir)"/*.md "$(DESTDIR)$(docdir)"/tutorials/*.md "$(DESTDIR)$(docdir)"/concepts/*.md; do \
		$(SED) -f $(srcdir)/docs/installed.sed "$$f" >"$$f.tmp" && cat "$$f.tmp" >"$$f" && rm -f "$$f.tmp" || exit 1; \
	done

.PHONY: install-docs
uninstall-hook:
	rm -f "$(DESTDIR)$(docdir)/index.md"
