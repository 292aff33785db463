// SPDX-License-Identifier: Apache-2.0
/**
 * A host's paths as a map: from down, to across. The text is the value, the colour its share of the expected value, so that
 * paths that are slow by nature stay pale. Paths explained by a slow link are outlined together.
 */
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { shade } from './colour.js';
import { Grid } from './grid.js';
import { useCall } from './live.js';
import { figure, many, ofExpected, scale, sentence, text } from './text.js';
import { Choice, Glyph, kindOf, Pick, Said, Section, Table, WORDS } from './ui.js';

const CELL = { w: 49, h: 25, gap: 1, left: 72, top: 40, right: 4, group: 0, groupGap: 4 };

/** "loopback.write_bw" -> "write" if all are of one probe, to keep the menu short. */
function shortNames(checks) {
	const probes = new Set(checks.map((c) => c.split('.')[0]));
	return new Map(checks.map((c) => [(probes.size === 1 ? c.split('.').slice(1).join('.') : c).replace(/_bw$/, ''), c]));
}

/** Cells of a matrix by row and column. */
function index(matrix) {
	const cells = matrix.rows.map(() => new Array(matrix.columns.length).fill(null));
	for (const c of matrix.cells)
		cells[c.row][c.column] = c;
	return cells;
}

/** Rectangles around the cells that `link` explains: runs in a row, merged with equal ones in the rows below. */
export function outlinesOf(cells, link) {
	const done = [];
	cells.forEach((row, r) => {
		for (let c = 0; c < row.length; c++) {
			if (!row[c] || row[c].link !== link)
				continue;
			const c0 = c;
			while (c + 1 < row.length && row[c + 1] && row[c + 1].link === link)
				c++;
			const above = done.find((o) => o.c0 === c0 && o.c1 === c && o.r1 === r - 1);
			if (above)
				above.r1 = r;
			else
				done.push({ r0: r, r1: r, c0, c1: c });
		}
	});
	return done;
}

function cellOf(cell, matrix) {
	const a = matrix.rows[cell.row], b = matrix.columns[cell.column], name = `${text(a.name)} to ${text(b.name)}`;
	if (typeof cell.value !== 'number')
		return { name: `${name}: not measured, ${cell.state}`, fill: 'ground', hatch: true };
	const share = typeof cell.ratio === 'number' ? cell.ratio : 1, colour = shade(share), s = scale(cell.expected || cell.value, matrix.unit);
	return { name: `${name}: ${ofExpected(cell.value, cell.expected, matrix.unit)}, ${WORDS[kindOf(cell.verdict)] === 'no answer' ? 'not judged' : WORDS[kindOf(cell.verdict)]}`, fill: colour.fill, ink: colour.ink, text: figure(cell.value / s.by, s.by !== 1) };
}

/** Lower-case names as labels: "gpu 3" becomes "GPU 3"; the port is left out if it is the only one. */
const label = (end) => text(end.name).replace(/^gpu /, 'GPU ').replace(/^numa[ :]/, 'NUMA ').replace(/ port 1$/, '').replace(/:1$/, '');

function PathTip({ cell, matrix, links }) {
	const link = links.find((l) => l.subject === cell.link);
	return html`<h3>${cell.verdict && html`<${Glyph} name=${kindOf(cell.verdict)} />`}<${Said}>${label(matrix.rows[cell.row])} to ${label(matrix.columns[cell.column])}<//><span class="dim">${matrix.profile} run</span></h3>
		<p><${Said}>${typeof cell.value === 'number' ? ofExpected(cell.value, cell.expected, matrix.unit) : `not measured: ${cell.state}`}${typeof cell.ratio === 'number' ? `, ${Math.round(cell.ratio * 100)} %` : ''}<//></p>
		${link && html`<p><${Said}>${sentence(link.sentence)}<//></p>`}`;
}

const TABLE = (matrix) => [
	{ head: 'from', cell: (c) => html`<${Said}>${label(matrix.rows[c.row])}<//>` }, { head: 'to', cell: (c) => html`<${Said}>${label(matrix.columns[c.column])}<//>` },
	{ head: 'seen', cell: (c) => (typeof c.value === 'number' ? ofExpected(c.value, c.expected, matrix.unit) : c.state), className: 'nowrap' },
	{ head: 'share', num: true, cell: (c) => (typeof c.ratio === 'number' ? `${Math.round(c.ratio * 100)} %` : '–') },
	{ head: 'verdict', cell: (c) => (c.verdict ? WORDS[kindOf(c.verdict)] : 'not judged') }, { head: 'crosses', cell: (c) => html`<${Said}>${c.link || ''}<//>` },
];

/** The colour scale, and the outlines. */
function Scale({ lines, outlined, what }) {
	return html`<div class="mesh-key"><span class="scale"><span>100 %</span><span class="ramp" role="img" aria-label="Colours from 100 % of what is expected, the ground, to 50 %"></span><span>50 % of expected</span></span>
		${lines.map((l) => html`<span key=${l.subject}><span class="outline" aria-hidden="true"></span> crosses <${Said}>${what(l)}<//>, ${many(outlined(l), 'cell')}</span>`)}</div>`;
}

function units(matrix) {
	const first = matrix.cells.find((c) => typeof c.expected === 'number') || matrix.cells[0];
	return first ? scale(first.expected || first.value || 0, matrix.unit).unit : text(matrix.unit);
}

/** "PCIe switch 0000:46:00.0 uplink" from a link's sentence: the part before the figures. */
const linkName = (l) => text(l.sentence || l.subject).split(': ')[0];

export function Mesh({ path, again, stale }) {
	const { value, problem } = useCall(`${path}/matrices`, again), [chosen, choose] = useState(null), [form, setForm] = useState('Map');
	if (!value || !value.matrices.length)
		return html`<${Section} title="Paths"><p class="empty">${problem ? text(problem.message) : value ? 'No report with paths is kept.' : ''}</p><//>`;
	const names = shortNames(value.matrices.map((m) => m.check)), slowest = value.matrices.reduce((a, b) => (b.slow > a.slow ? b : a));
	const now = names.has(chosen) ? chosen : [...names].find(([, check]) => check === slowest.check)[0];
	const matrix = value.matrices.find((m) => m.check === names.get(now)), cells = index(matrix);
	const lines = value.links.filter((l) => matrix.cells.some((c) => c.link === l.subject));
	const hot = (end, at) => lines.length > 0 && cells.some((row, r) => row.some((c, k) => c && c.link && (at === 'row' ? r : k) === end));
	const half = matrix.columns.findIndex((c) => c.kind !== matrix.columns[0].kind);
	const few = (end, at) => { const all = at === 'row' ? cells[end] : cells.map((r) => r[end]); return hot(end, at) && all.filter((c) => c && c.link).length > all.length / 2; };
	return html`<${Section} title="Paths" say=${`${units(matrix)}; colour: share of expected`} right=${html`${names.size > 1 && html`<${Pick} label="Check" value=${now} choices=${[...names.keys()]} onChoose=${choose} />`}<${Choice} label="Form" value=${form} choices=${['Map', 'Table']} onChoose=${setForm} />`}>
		${form === 'Map' ? html`<${Grid} key=${matrix.check} label=${`${matrix.check}, from down to across, ${units(matrix)}`} rows=${matrix.rows.length} columns=${matrix.columns.length}
			size=${{ ...CELL, left: Math.max(...matrix.rows.map((r) => label(r).length)) * 7 + 16, extra: (c) => (half > 0 && c >= half ? 8 : 0) }} headAlign="right" stale=${stale}
			cell=${(r, c) => cells[r][c] && cellOf(cells[r][c], matrix)} rowHead=${(r) => ({ text: label(matrix.rows[r]), strong: few(r, 'row') })}
			columnHead=${(c) => ({ text: label(matrix.columns[c]), small: text(matrix.columns[c].pci || '').replace(/^0000:/, '') || ' ', strong: few(c, 'column') })}
			outlines=${lines.flatMap((l) => outlinesOf(cells, l.subject))} start=${firstSlow(matrix)} tip=${(r, c) => cells[r][c] && html`<${PathTip} cell=${cells[r][c]} matrix=${matrix} links=${value.links} />`} />
			<${Scale} lines=${lines.slice(0, 3)} outlined=${(l) => matrix.cells.filter((c) => c.link === l.subject).length} what=${linkName} />`
		: html`<${Table} label=${`Paths, ${matrix.check}`} columns=${TABLE(matrix)} rows=${[...matrix.cells].sort((a, b) => (a.ratio ?? 9) - (b.ratio ?? 9))} keyOf=${(c) => c.subject} shown=${40} />`}<//>`;
}

function firstSlow(matrix) {
	const slow = matrix.cells.find((c) => c.verdict === 'fail') || matrix.cells[0];
	return slow ? [slow.row, slow.column] : null;
}
