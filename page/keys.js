// SPDX-License-Identifier: Apache-2.0
/** The help shown by "?". */
import { useEffect, useRef } from 'preact/hooks';
import { html } from './html.js';

const KEYS = [
	['/', 'find a host'],
	['?', 'these keys'],
	['arrows', 'move in a map'],
	['Home End', 'to the ends of a row; with Ctrl, of the map'],
	['PgUp PgDn', 'ten rows'],
	['Enter', 'open what has the focus'],
	['f', 'in the fleet: the filter'],
	['c', 'on a host: cordon or uncordon it'],
	['Esc', 'close a pop-up'],
];

export function Keys({ onClose }) {
	const dialog = useRef(null);
	useEffect(() => dialog.current.showModal(), []);
	return html`<dialog ref=${dialog} aria-labelledby="keys" onClose=${onClose}><header><h2 id="keys">Keys</h2></header>
		<dl class="keys">${KEYS.map(([key, what]) => html`<div key=${key}><dt>${key.split(' ').map((k) => html`<kbd key=${k}>${k}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>
		<footer><button class="btn go" type="button" onClick=${() => dialog.current.close()}>Close</button></footer></dialog>`;
}
