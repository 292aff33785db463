// SPDX-License-Identifier: Apache-2.0
/** Common components of all views: headline, sections, paged tables, glyphs, untrusted text, commands to copy. */
import { useEffect, useState } from 'preact/hooks';
import { html } from './html.js';
import { count, shellWord, text } from './text.js';

/** Rows of a table shown at once. */
const TABLE_ROWS = 100;
/** How long "copied" is shown, milliseconds. */
const COPIED_MS = 2000;

/** Display text of verdict kinds. */
export const WORDS = { fail: 'fail', warn: 'warn', unsure: 'cannot tell', inconclusive: 'cannot tell', none: 'no answer', pass: 'pass' };
/** The kind of a verdict of the API. */
export const kindOf = (verdict) => (verdict === 'inconclusive' ? 'unsure' : verdict || 'none');

/** @param {{name: string, kind?: string, label?: string}} props name: fail, warn, pass, unsure, none, wait, suspect, copy */
export function Glyph({ name, kind = name, label }) {
	return html`<svg class=${`g v-${kind}`} role=${label ? 'img' : undefined} aria-label=${label} aria-hidden=${label ? undefined : 'true'}><use href=${`#g-${name}`} /></svg>`;
}

/** A glyph on a cell. */
export const Mark = ({ name }) => html`<svg class="g" aria-hidden="true"><use href=${`#x-${name}`} /></svg>`;

/** Untrusted text of a host, a job or a person: isolated, so that it cannot change the direction of its surroundings, and truncated. */
export const Said = ({ children }) => html`<bdi>${text(Array.isArray(children) ? children.join('') : children)}</bdi>`;

export const hostLink = (name) => `#/host/${encodeURIComponent(name)}`;
export const jobLink = (id) => `#/job/${encodeURIComponent(id)}`;
export const hangLink = (id) => `${jobLink(id)}/hang`;
export const HostLink = ({ name }) => html`<a class="link" href=${hostLink(name)}><${Said}>${name}<//></a>`;

/** A button that copies the equivalent command; `words` are quoted for a shell. */
export function Command({ words }) {
	const [said, say] = useState(''), line = ['assayctl', ...words].map(shellWord).join(' ');
	useEffect(() => {
		const t = said && setTimeout(() => say(''), COPIED_MS);
		return () => clearTimeout(t);
	}, [said]);
	const copy = () => navigator.clipboard.writeText(line).then(() => say('copied'), () => say('not allowed to copy'));
	return html`<button class="btn quiet" type="button" title="copy as assayctl command" onClick=${copy}><svg class="g" aria-hidden="true"><use href="#g-copy" /></svg>
		<bdi>${said || line.slice(0, 60)}</bdi><span class="vh" role="status">${said}</span></button>`;
}

/** Selector between several forms, as buttons. */
export function Choice({ label, value, choices, onChoose }) {
	return html`<span class="seg" role="group" aria-label=${label}>${choices.map((c) => html`<button key=${c} type="button" aria-pressed=${String(c === value)} onClick=${() => onChoose(c)}>${c}</button>`)}</span>`;
}

/** Number of buttons side by side; more become a list. */
const CHOICES = 3;

/** Choice, or a list if there are too many for buttons. */
export function Pick({ label, value, choices, onChoose }) {
	if (choices.length <= CHOICES)
		return html`<${Choice} label=${label} value=${value} choices=${choices} onChoose=${onChoose} />`;
	return html`<select class="pick" aria-label=${label} value=${value} onChange=${(e) => onChoose(e.target.value)}>${choices.map((c) => html`<option key=${c} value=${c}>${c}</option>`)}</select>`;
}

/**
 * The headline of a view. If `title` is text it is also the title of the tab.
 * @param {{crumb?: any, glyph?: string, title: any, prose?: any, tools?: any, facts?: [string, any][]}} props
 */
export function Lead({ crumb, glyph, title, name, prose, tools, facts }) {
	useEffect(() => {
		document.title = text(name || (typeof title === 'string' ? title : 'Assay'));
	}, [name, title]);
	return html`<div class="lead"><div>
		${crumb && html`<p class="crumb">${crumb}</p>`}
		<h1>${glyph && html`<${Glyph} name=${glyph} />`}${title}</h1>
		${prose && html`<p class="prose">${prose}</p>`}
	</div><div class="tools">${tools}</div>
	${facts && html`<dl class="facts wide">${facts.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`}</div>`;
}

export function Section({ title, say, right, children, className = '' }) {
	return html`<section class=${`sec ${className}`}><header><h2>${title}</h2>${say && html`<p>${say}</p>`}${right && html`<span class="right">${right}</span>`}</header>${children}</section>`;
}

/** An error, with the controller's message. */
export const Trouble = ({ problem }) => html`<p class="problem" role="alert"><bdi>${text(problem.message)}</bdi>${problem.allows && html` <bdi>${text(problem.allows)}</bdi>`}</p>`;

/**
 * A table, with pages if there are many rows.
 * @param {{label: string, columns: {head: string, cell: (row: any) => any, num?: boolean, className?: string}[], rows: any[], keyOf: (row: any, i: number) => any, empty?: string, shown?: number}} props
 */
export function Table({ label, columns, rows, keyOf, empty = 'None.', shown = TABLE_ROWS }) {
	const [from, setFrom] = useState(0), first = from < rows.length ? from : 0, part = rows.slice(first, first + shown);
	if (!rows.length)
		return html`<p class="empty">${empty}</p>`;
	return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table aria-rowcount=${rows.length + 1}><caption class="vh">${label}</caption>
		<thead><tr>${columns.map((c) => html`<th key=${c.head} scope="col" class=${c.num ? 'num' : ''}>${c.head}</th>`)}</tr></thead>
		<tbody>${part.map((row, i) => html`<tr key=${keyOf(row, first + i)}>${columns.map((c) => html`<td key=${c.head} data-head=${c.head} class=${`${c.num ? 'num ' : ''}${c.className || ''}`}>${c.cell(row)}</td>`)}</tr>`)}</tbody></table></div>
		${rows.length > shown && html`<nav class="pager" aria-label=${`Pages of ${label}`}>
			<button class="btn" type="button" disabled=${first === 0} onClick=${() => setFrom(Math.max(0, first - shown))}>Before</button>
			<span>${count(first + 1)} to ${count(Math.min(first + shown, rows.length))} of ${count(rows.length)}</span>
			<button class="btn" type="button" disabled=${first + shown >= rows.length} onClick=${() => setFrom(first + shown)}>After</button></nav>`}`;
}
