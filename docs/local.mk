# SPDX-License-Identifier: Apache-2.0
# docs: manual pages of files, beside those that Makefile.am lists. Included by Makefile.am.
dist_man_MANS += docs/man/assayd.yaml.5 docs/man/assay-controller.yaml.5 docs/man/assay-tokens.yaml.5 docs/man/assay-policy.5 docs/man/assay-data.5
