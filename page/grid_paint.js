// SPDX-License-Identifier: Apache-2.0
/**
 * Geometry and drawing of a grid's cells. Canvases cover the visible part of the grid and follow scrolling, so the cost depends
 * on what is visible, not on ten thousand hosts.
 */
import { token } from './colour.js';

/** @typedef {{name: string | (() => string), fill: string, ink?: string, text?: string, glyph?: 'fail'|'warn'|'unsure', ring?: 'solid'|'dashed', corner?: boolean, hatch?: boolean, dim?: boolean}} Cell
 *  fill and ink: a token of page.css, or a colour; name: the spoken name, or a function, as few of many cells are spoken */

/** Rows per canvas, and canvases kept above and below the visible part. */
const BAND_ROWS = 16, AHEAD = 2;
const GLYPHS = {
	fail: 'M2.5 2.5l7 7M9.5 2.5l-7 7',
	warn: 'M6 1.8v5M6 10v.2',
	unsure: 'M3.6 4c0-3.4 4.8-3.2 4.8 0C8.4 6 6 5.7 6 7.7M6 10.6v.1',
};
const paths = {};

function glyphPath(name) {
	return paths[name] || (paths[name] = new Path2D(GLYPHS[name]));
}

/** Resolve a token name or a colour to a colour. */
function colour(name) {
	return /^[a-z][a-z0-9-]*$/.test(name) ? token(name) || name : name;
}

/** Positions of cells, in CSS pixels. */
export class Places {
	/** @param {{w: number, h: number, gap?: number, group?: number, groupGap?: number, rowGroup?: number, left?: number, top?: number, right?: number, extra?: (c: number) => number}} size
	 *  group: a wider gap after every so many columns; rowGroup: the same for rows */
	constructor(rows, columns, size) {
		Object.assign(this, { rows, columns, gap: 2, group: 0, groupGap: 6, rowGroup: 0, left: 0, top: 0, right: 0, extra: () => 0 }, size);
	}
	x(c) {
		return this.left + c * (this.w + this.gap) + (this.group ? Math.floor(c / this.group) * this.groupGap : 0) + this.extra(c);
	}
	y(r) {
		return this.top + r * (this.h + this.gap) + (this.rowGroup ? Math.floor(r / this.rowGroup) * this.groupGap : 0);
	}
	get width() {
		return Math.ceil(this.x(Math.max(this.columns - 1, 0)) + this.w + this.right);
	}
	get height() {
		return Math.ceil(this.y(Math.max(this.rows - 1, 0)) + this.h + 2);
	}
	/** The row at or before `y`. */
	rowAt(y) {
		let r = Math.min(this.rows - 1, Math.max(0, Math.floor((y - this.top) / (this.h + this.gap))));
		while (r > 0 && this.y(r) > y)
			r--;
		return r;
	}
	/** [row, column] under a point, or null between cells. */
	find(px, py) {
		if (py < this.top || px < this.left)
			return null;
		const r = this.rowAt(py);
		let c = Math.min(this.columns - 1, Math.max(0, Math.floor((px - this.left) / (this.w + this.gap))));
		while (c > 0 && this.x(c) > px)
			c--;
		return py < this.y(r) + this.h + this.gap && px < this.x(c) + this.w + this.gap ? [r, c] : null;
	}
}

function rounded(g, x, y, w, h, r) {
	g.beginPath();
	g.roundRect(x, y, w, h, r);
}

function hatch(g, x, y, w, h, ink) {
	g.save();
	rounded(g, x, y, w, h, 2);
	g.clip();
	g.strokeStyle = ink;
	g.lineWidth = 1;
	g.beginPath();
	for (let at = -h; at < w; at += 5) {
		g.moveTo(x + at, y + h);
		g.lineTo(x + at + h, y);
	}
	g.stroke();
	g.restore();
	g.strokeStyle = ink;
	g.lineWidth = 1;
	rounded(g, x + 0.5, y + 0.5, w - 1, h - 1, 2);
	g.stroke();
}

function drawGlyph(g, name, x, y, w, h, ink) {
	const [dx, dy] = [x + w / 2 - 6, y + h / 2 - 6];
	g.translate(dx, dy); /* cheaper than saving and restoring the whole canvas state */
	g.strokeStyle = ink;
	g.lineWidth = 2.2;
	g.lineCap = 'round';
	g.stroke(glyphPath(name));
	g.lineCap = 'butt';
	g.translate(-dx, -dy);
}

function drawRing(g, x, y, w, h, dashed) {
	g.strokeStyle = token('ink');
	g.lineWidth = dashed ? 1.5 : 2;
	g.setLineDash(dashed ? [3, 2] : []);
	rounded(g, x, y, w, h, 3);
	g.stroke();
	g.setLineDash([]);
}

function drawCorner(g, x, y, w) {
	g.fillStyle = token('ink');
	g.beginPath();
	g.moveTo(x + w - 7, y);
	g.lineTo(x + w, y);
	g.lineTo(x + w, y + 7);
	g.fill();
}

/** Draw a cell; `stale`: its state is unknown now, so it has no colour. */
function drawCell(g, x, y, w, h, cell, stale) {
	const ink = colour(cell.ink || 'ink');
	g.globalAlpha = cell.dim ? 0.18 : 1;
	if (cell.hatch || stale)
		hatch(g, x, y, w, h, token('none'));
	else {
		g.fillStyle = colour(cell.fill);
		if (cell.glyph || cell.ring) {
			rounded(g, x, y, w, h, 2);
			g.fill();
		} else
			g.fillRect(x, y, w, h); /* most cells are plain, and a rectangle costs a tenth */
	}
	if (cell.glyph)
		drawGlyph(g, cell.glyph, x, y, w, h, stale ? token('ink') : ink);
	if (cell.text) {
		g.fillStyle = stale ? token('ink') : ink;
		g.textAlign = 'center';
		g.fillText(cell.text, x + w / 2, y + h / 2 + 0.5, w - 2);
	}
	if (cell.ring)
		drawRing(g, x, y, w, h, cell.ring === 'dashed');
	if (cell.corner)
		drawCorner(g, x, y, w);
	g.globalAlpha = 1;
}

function drawText(g, x, y, text, align, strong, ink) {
	g.font = `${strong ? '600 ' : ''}11px ${token('font')}`;
	g.fillStyle = token(ink);
	g.textAlign = align;
	g.fillText(text, x, y);
}

function drawNote(g, places, y, note) {
	if (note)
		drawText(g, places.x(places.columns - 1) + places.w + 12, y + places.h / 2 + 0.5, note, 'left', false, 'ink-2');
}

/** Draw a row as made by `sign`: {cells, head, note}. */
function drawRow(g, spec, places, y, { cells, head, note }) {
	if (head)
		drawText(g, spec.headAlign === 'right' ? places.left - 8 : 0, y + places.h / 2 + 0.5, head.text, spec.headAlign || 'left', head.strong, head.strong ? 'ink' : 'ink-3');
	g.font = `11px ${token('font')}`;
	for (let c = 0; c < places.columns; c++)
		if (cells[c])
			drawCell(g, places.x(c), y, places.w, places.h, cells[c], spec.stale);
	drawNote(g, places, y, note);
}

function drawHeads(g, spec, places) {
	for (let c = 0; spec.columnHead && c < places.columns; c++) {
		const head = spec.columnHead(c);
		if (!head)
			continue;
		const x = head.left ? places.x(c) : places.x(c) + places.w / 2, align = head.left ? 'left' : 'center';
		drawText(g, x, places.top - (head.small ? 26 : 10), head.text, align, head.strong, head.strong ? 'ink' : 'ink-3');
		if (head.small)
			drawText(g, x, places.top - 11, head.small, align, false, 'ink-3');
	}
	if (spec.corner)
		drawText(g, 0, places.top - 10, spec.corner, 'left', false, 'ink-3');
	if (spec.noteHead)
		drawText(g, places.x(places.columns - 1) + places.w + 12, places.top - 10, spec.noteHead, 'left', false, 'ink-3');
}

function drawOutlines(g, spec, places) {
	g.strokeStyle = token('ink');
	g.lineWidth = 2;
	g.lineJoin = 'round';
	for (const o of spec.outlines || []) {
		rounded(g, places.x(o.c0), places.y(o.r0), places.x(o.c1) + places.w - places.x(o.c0), places.y(o.r1) + places.h - places.y(o.r0), 1);
		g.stroke();
	}
}

/** Do both look the same? Either may be missing. */
function looksAs(a, b) {
	return a && b ? a.fill === b.fill && a.ink === b.ink && a.glyph === b.glyph && a.text === b.text && a.ring === b.ring && a.corner === b.corner && a.hatch === b.hatch && a.dim === b.dim : a === b;
}

/** Row r as it should look now. */
function rowNow(spec, r) {
	const cells = [];
	for (let c = 0; c < spec.columns; c++)
		cells.push(spec.cell(r, c) || null);
	return { cells, head: (spec.rowHead && spec.rowHead(r)) || null, note: (spec.note && spec.note(r)) || '' };
}

/** Everything that affects the picture except its rows. */
function frameOf(spec, places, ratio) {
	const xs = [], heads = [];
	for (let c = 0; c < places.columns; c++) {
		const head = spec.columnHead && spec.columnHead(c);
		xs.push(places.x(c));
		heads.push(head ? [head.text, head.small, head.strong, head.left] : 0);
	}
	return JSON.stringify([ratio, xs, heads, places.w, places.h, places.y(0), places.height, places.width, places.rows, spec.stale, spec.corner, spec.noteHead, spec.headAlign, spec.outlines]);
}

/** The band at pixel `y` of the grid. */
const bandAt = (places, y) => Math.floor(places.rowAt(y + 1) / BAND_ROWS);

/**
 * The picture of a grid: canvases of BAND_ROWS rows each, for the visible part and a little above and below. A frame only draws
 * what has scrolled into view or cells that look different now; the rest follows, one band per frame.
 */
export class Picture {
	constructor() {
		/** @type {Map<number, {canvas: HTMLCanvasElement, rows: object[]|null, due: boolean}>} rows: as drawn; null: not valid */
		this.bands = new Map();
		this.spare = [];
		this.spec = this.places = this.frame = null;
		this.ratio = 0;
		this.settled = false;
	}

	/** Invalidate everything drawn: colours or fonts have changed. */
	forget() {
		for (const band of this.bands.values()) {
			band.rows = null;
			band.due = true;
		}
	}

	take(spec, places) {
		const ratio = window.devicePixelRatio || 1;
		if (spec === this.spec && ratio === this.ratio)
			return;
		const frame = frameOf(spec, places, ratio);
		if (frame !== this.frame)
			this.forget();
		for (const band of this.bands.values())
			band.due = true;
		Object.assign(this, { spec, places, ratio, frame });
	}

	/**
	 * Draw the visible part, and one band outside it.
	 * @param {HTMLElement} layer contains the canvases @param {{from: number, to: number}} seen visible pixels of the grid
	 * @returns {boolean} is there more to draw in the next frame?
	 */
	show(layer, spec, places, seen) {
		this.take(spec, places);
		const first = bandAt(places, seen.from), last = bandAt(places, seen.to), end = Math.floor((places.rows - 1) / BAND_ROWS);
		const from = Math.max(0, first - AHEAD), to = Math.min(end, last + AHEAD);
		for (const [b, band] of this.bands)
			if (b < from || b > to) {
				band.canvas.remove();
				this.spare.push(band.canvas);
				this.bands.delete(b);
			}
		this.spare.length = Math.min(this.spare.length, AHEAD);
		const due = (b) => !this.bands.has(b) || this.bands.get(b).due, later = [];
		for (let b = from; b <= to; b++)
			if (due(b) && b >= first && b <= last)
				this.band(layer, b);
			else if (due(b))
				later.push(b);
		/* Show what was just drawn first. */
		if (later.length && this.settled)
			this.band(layer, later.shift());
		this.settled = true;
		return later.length > 0;
	}

	band(layer, b) {
		const { spec, places, ratio } = this, r0 = b * BAND_ROWS, r1 = Math.min(r0 + BAND_ROWS, places.rows);
		const top = b ? places.y(r0) - 1 : 0, height = (r1 < places.rows ? places.y(r1) - 1 : places.height) - top;
		let band = this.bands.get(b);
		if (!band) {
			band = { canvas: this.spare.pop() || document.createElement('canvas'), rows: null, due: true };
			this.bands.set(b, band);
		}
		const g = band.canvas.getContext('2d'), now = [];
		for (let r = r0; r < r1; r++)
			now.push(rowNow(spec, r));
		/* Cells are cleared individually only if their edges are on pixel boundaries and nothing overlaps them. */
		const before = Number.isInteger(ratio) && places.gap >= 2 && !(spec.outlines || []).length && band.rows;
		if (!before)
			begin(band.canvas, g, spec, places, { top, height, ratio });
		now.forEach((row, i) => drawAnew(g, spec, places, places.y(r0 + i), row, before && before[i]));
		drawOutlines(g, spec, places);
		band.rows = now;
		band.due = false;
		if (!band.canvas.parentNode)
			layer.append(band.canvas);
	}
}

/** Prepare an empty canvas for a band, with the column heads. */
function begin(canvas, g, spec, places, { top, height, ratio }) {
	const w = Math.ceil(places.width * ratio), h = Math.ceil(height * ratio);
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${places.width}px`;
		canvas.style.height = `${height}px`;
	}
	canvas.style.top = `${top}px`;
	g.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
	g.clearRect(0, top, places.width, height);
	g.textBaseline = 'middle';
	if (top < places.top)
		drawHeads(g, spec, places);
}

/** Draw a row over its state `before`; null: the canvas is empty there. */
function drawAnew(g, spec, places, y, now, before) {
	const head = (row) => (row.head ? `${row.head.strong} ${row.head.text}` : '');
	if (!before)
		return drawRow(g, spec, places, y, now);
	if (head(before) !== head(now)) {
		g.clearRect(0, y - 1, places.width, places.h + 2);
		return drawRow(g, spec, places, y, now);
	}
	g.font = `11px ${token('font')}`;
	for (let c = 0; c < places.columns; c++) {
		if (looksAs(before.cells[c], now.cells[c]))
			continue;
		g.clearRect(places.x(c) - 1, y - 1, places.w + 2, places.h + 2);
		if (now.cells[c])
			drawCell(g, places.x(c), y, places.w, places.h, now.cells[c], spec.stale);
	}
	if (before.note !== now.note) {
		const from = places.x(places.columns - 1) + places.w + 1;
		g.clearRect(from, y - 1, places.width - from, places.h + 2);
		drawNote(g, places, y, now.note);
	}
}
