# SPDX-License-Identifier: Apache-2.0
# page: the web page that assay-controller serves; used as it is, without a build step. Included by Makefile.am.
# Each file, including page/vendor with its licences, is listed only here: this puts it into the tarball, installs it below
# $(pkgdatadir)/page, and copies it next to the programs of the build directory.
PAGE_FILES += \
	page/index.html \
	page/icon.svg \
	page/page.css \
	page/views.css \
	page/acting.js \
	page/actions.js \
	page/app.js \
	page/api.js \
	page/budgets.js \
	page/campaigns.js \
	page/colour.js \
	page/early.js \
	page/fleet.js \
	page/fleet_data.js \
	page/fleet_side.js \
	page/grid.js \
	page/grid_paint.js \
	page/host.js \
	page/host_charts.js \
	page/host_life.js \
	page/host_mesh.js \
	page/host_parts.js \
	page/host_tree.js \
	page/html.js \
	page/incidents.js \
	page/keys.js \
	page/lists.js \
	page/live.js \
	page/login.js \
	page/records.js \
	page/replay.js \
	page/text.js \
	page/ui.js \
	page/width.js \
	page/wiring.js

# Libraries as published on npm (scripts/vendor-page).
PAGE_FILES += \
	page/vendor/VENDORED \
	page/vendor/htm/LICENSE \
	page/vendor/htm/dist/htm.module.js \
	page/vendor/preact/LICENSE \
	page/vendor/preact/dist/preact.mjs \
	page/vendor/preact/hooks/dist/hooks.mjs

# Their sources: in the tarball, but not served.
EXTRA_DIST += \
	page/vendor/htm/package.json \
	page/vendor/htm/src/build.mjs \
	page/vendor/htm/src/constants.mjs \
	page/vendor/htm/src/index.mjs \
	page/vendor/preact/package.json \
	page/vendor/preact/hooks/src/index.js \
	page/vendor/preact/src/component.js \
	page/vendor/preact/src/constants.js \
	page/vendor/preact/src/create-context.js \
	page/vendor/preact/src/create-element.js \
	page/vendor/preact/src/create-portal.js \
	page/vendor/preact/src/diff/catch-error.js \
	page/vendor/preact/src/diff/children.js \
	page/vendor/preact/src/diff/index.js \
	page/vendor/preact/src/diff/props.js \
	page/vendor/preact/src/index.js \
	page/vendor/preact/src/options.js \
	page/vendor/preact/src/render.js \
	page/vendor/preact/src/util.js

# Jobs.
PAGE_FILES += page/job.js page/job_charts.js page/job_model.js page/job_plan.js page/jobs.js
PAGE_FILES += page/hang.js page/hang_model.js page/slices.js

nobase_dist_pkgdata_DATA += $(PAGE_FILES)
