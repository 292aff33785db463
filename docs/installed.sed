# SPDX-License-Identifier: Apache-2.0
# What pages say of each other, as it is where they are installed: README.md of the top and docs/* in one folder, the index of docs
# as index.md there.
# Of README.md at the top: links, then names.
s|](docs/README\.md|](index.md|g
s|](docs/|](|g
s|docs/\([a-z/-]*\.md\)|\1|g
s|docs/\([a-z-]*\.yaml\)|\1|g
# Of a page of docs and of one in a folder of it, to the index.
s|](README\.md|](index.md|g
# Of the index, to the top.
s|\[README\](\.\./README\.md|[README](README.md|g
s|](\.\./README\.md|](../index.md|g
