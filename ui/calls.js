// SPDX-License-Identifier: MIT
// calls.js -- the tree of calls as lines that open and close.

import {figureText, changeText, percentText} from './words.js';
import {make, List, shareCell, changeClass} from './list.js';

const OPEN_SHARE = 0.1, OPEN_ROWS = 60;

export class Calls {
	constructor(panel, on) {
		this.up = false;
		this.buttons = make('div', {class: 'bar'});
		for (const [id, text, up] of [['down', 'Callees', false], ['up', 'Callers', true]]) {
			const b = make('button', {type: 'button', text, id: 'calls-' + id});
			b.addEventListener('click', () => {
				this.up = up;
				this.start();
			});
			this.buttons.append(b);
		}
		this.head = make('div', {class: 'head', role: 'row'});
		this.list = new List('treegrid', 'row', {
			draw: (i, row) => this.draw(i, row),
			open: i => this.toggle(i),
			pick: i => on.pick(this.tree.entry[this.rows[i]]),
			click: (event, i) => this.onClick(event, i),
			key: (event, i) => this.onKey(event, i),
		});
		this.list.box.id = 'calls';
		this.list.box.setAttribute('aria-label', 'Tree of calls');
		this.list.box.prepend(this.head);
		panel.append(this.buttons, this.list.box);
	}

	show(flame) {
		this.flame = flame;
		this.view = flame.view;
		this.start();
	}

	/** Open along what is large, closed elsewhere. */
	start() {
		this.tree = this.up ? this.flame.trees.up : this.flame.trees.down;
		const {tree} = this;
		this.opened = new Set([0]);
		let rows = 1;
		for (let i = 0; i < tree.size && rows < OPEN_ROWS; i++) {
			if (!this.opened.has(i) && !(tree.depth[i] > 0 && this.opened.has(tree.parent[i])))
				continue;
			if (i === 0 || (this.size(i) >= OPEN_SHARE * this.size(0) && !this.up)) {
				this.opened.add(i);
				rows += tree.children(i).length;
			}
		}
		this.buttons.children[0].setAttribute('aria-pressed', String(!this.up));
		this.buttons.children[1].setAttribute('aria-pressed', String(this.up));
		const titles = this.view.base ? ['Change', 'before', 'after', 'Function'] : ['Total', 'Share', 'Own', 'Function'];
		this.grid = '110px 90px 90px minmax(300px, 1fr)';
		this.head.style.gridTemplateColumns = this.grid;
		this.head.replaceChildren(...titles.map((text, at) =>
			make('button', {type: 'button', role: 'columnheader', tabindex: '-1', text, class: at < 3 ? 'number' : ''})));
		this.flatten(false);
	}

	size(i) {
		return Math.max(this.tree.total[i], this.tree.was ? this.tree.was[i] : 0);
	}

	/** The rows that are open now, in order. */
	flatten(keep) {
		const {tree} = this;
		this.rows = [];
		for (let i = 0; i < tree.size;) {
			this.rows.push(i);
			i = this.opened.has(i) ? i + 1 : tree.end[i];
		}
		this.list.reset(this.rows.length, keep);
	}

	draw(at, row) {
		const {tree, view} = this, i = this.rows[at];
		const kids = tree.end[i] > i + 1, open = this.opened.has(i);
		row.style.gridTemplateColumns = this.grid;
		row.setAttribute('aria-level', tree.depth[i] + 1);
		if (kids)
			row.setAttribute('aria-expanded', String(open));
		const twist = make('span', {class: 'twist', text: kids ? (open ? '\u25be' : '\u25b8') : ''});
		const entry = tree.entry[i];
		const name = make('span', {}, twist, make('span', {class: 'name', text: this.flame.names.name(entry)}),
			make('span', {class: 'soft', text: '  ' + this.flame.names.place(entry), title: this.flame.names.where(entry)}));
		name.style.paddingLeft = Math.min(tree.depth[i], 60) * 14 + 'px';
		if (this.flame.hits !== null && this.flame.hits[entry] === 1)
			row.classList.add('hit');
		if (view.base) {
			const change = tree.total[i] - tree.was[i];
			row.append(make('span', {class: 'number ' + changeClass(change), text: change === 0 ? '0' : changeText(view, change)}),
				make('span', {class: 'number', text: figureText(view, tree.was[i])}),
				make('span', {class: 'number', text: figureText(view, tree.total[i])}), name);
		} else {
			row.append(make('span', {class: 'number', text: figureText(view, tree.total[i])}),
				shareCell(percentText(tree.total[i], tree.total[0]), tree.total[i] / tree.total[0]),
				make('span', {class: 'number soft', text: tree.self[i] !== 0 ? figureText(view, tree.self[i]) : ''}), name);
		}
	}

	toggle(at) {
		const i = this.rows[at];
		if (this.tree.end[i] === i + 1)
			return;
		if (!this.opened.delete(i))
			this.opened.add(i);
		this.flatten(true);
	}

	onClick(event, at) {
		if (!event.target.classList.contains('twist'))
			return false;
		this.list.chosen = at;
		this.toggle(at);
		return true;
	}

	onKey(event, at) {
		if (at < 0)
			return false;
		const i = this.rows[at], open = this.opened.has(i);
		if (event.key === 'ArrowRight') {
			if (!open)
				this.toggle(at);
			else if (at + 1 < this.rows.length)
				this.list.choose(at + 1);
		} else if (event.key === 'ArrowLeft') {
			if (open && this.tree.end[i] > i + 1)
				this.toggle(at);
			else
				this.list.choose(this.rows.indexOf(this.tree.parent[i]));
		} else {
			return false;
		}
		return true;
	}

	find() {
		this.list.update();
	}

	focus() {
		this.list.box.focus();
	}
}
