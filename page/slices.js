// SPDX-License-Identifier: Apache-2.0
/**
 * Ranks in the three dimensions of a job's parallelism, as linked planes: the row and column of the selected rank are outlined
 * in each, and selecting a cell in one plane moves the others to it. Unlike a 3D picture it can be printed.
 */
import { html } from './html.js';
import { Grid } from './grid.js';

const CELL = { w: 30, h: 20, gap: 2, left: 52, top: 24, right: 2 }, SMALL = 12;
/** Up to this many columns, cells show their rank. */
const WIDE = 16;

/** The planes through the selected rank; a plane that is a single line is left out. */
function planes({ dp, pp, tp }, at) {
	return [
		{ name: 'DP x PP', fixed: `TP ${at.t}`, across: 'DP', down: 'PP', columns: dp, rows: pp, r: at.p, c: at.d, to: (r, c) => ({ ...at, p: r, d: c }) },
		{ name: 'TP x PP', fixed: `DP ${at.d}`, across: 'TP', down: 'PP', columns: tp, rows: pp, r: at.p, c: at.t, to: (r, c) => ({ ...at, p: r, t: c }) },
		{ name: 'DP x TP', fixed: `PP ${at.p}`, across: 'DP', down: 'TP', columns: dp, rows: tp, r: at.t, c: at.d, to: (r, c) => ({ ...at, t: r, d: c }) },
	].filter((plane) => plane.rows > 1 && plane.columns > 1);
}

/**
 * @param {{shape: {dp: number, pp: number, tp: number}, at: {d: number, p: number, t: number}, cell: (place: {d: number, p: number, t: number}, small: boolean) => object|null, stale: boolean, onChoose: (place: {d: number, p: number, t: number}) => void}} props
 *   cell: as in Grid
 */
export function Slices({ shape, at, cell, stale, onChoose }) {
	return html`<div class="slices">${planes(shape, at).map((plane) => {
		const small = plane.columns > WIDE, size = small ? { ...CELL, w: SMALL, h: SMALL } : CELL, every = small ? 4 : 1;
		return html`<figure key=${plane.name}><figcaption><b>${plane.name}</b> at ${plane.fixed}</figcaption>
			<${Grid} label=${`${plane.name} at ${plane.fixed}; chosen: ${plane.across} ${plane.c}, ${plane.down} ${plane.r}`} rows=${plane.rows} columns=${plane.columns} size=${size} stale=${stale} start=${[plane.r, plane.c]}
				cell=${(r, c) => cell(plane.to(r, c), small)} headAlign="right" rowHead=${(r) => ({ text: r ? String(r) : `${plane.down} 0`, strong: r === plane.r })}
				columnHead=${(c) => (c % every === 0 || c === plane.c ? { text: c || small ? String(c) : `${plane.across} 0`, strong: c === plane.c } : null)}
				outlines=${[{ r0: plane.r, c0: 0, r1: plane.r, c1: plane.columns - 1 }, { r0: 0, c0: plane.c, r1: plane.rows - 1, c1: plane.c }]} onOpen=${(r, c) => onChoose(plane.to(r, c))} /></figure>`;
	})}</div>`;
}
