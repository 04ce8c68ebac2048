// SPDX-License-Identifier: MIT
// top.js -- the table of functions: sorted by any column, cut down by the search.

import {figureText, changeText, percentText, countText} from './words.js';
import {expression, Names} from './flame.js';
import {make, List, shareCell, changeClass} from './list.js';

/** Columns of a view: title, width, figure to sort by, and the cell. */
function topColumns(view, names) {
	const e = view.entries;
	const number = (i, key) => e[key][i];
	const plain = (key, err) => i => {
		let text = figureText(view, number(i, key));
		if (view.sampled && !view.base && e[err][i] >= 0.5)
			text += ' \u00b1 ' + figureText(view, e[err][i]);
		return make('span', {class: number(i, key) === 0 ? 'number soft' : 'number', text});
	};
	const share = key => i => shareCell(percentText(number(i, key), view.total), number(i, key) / view.total);
	const change = (now, was, err) => i => {
		const delta = e[now][i] - e[was][i];
		const noise = view.sampled && Math.abs(delta) < 2 * e[err][i];
		const state = e[was][i] === 0 && e[now][i] > 0 ? ' new' : e[now][i] === 0 && e[was][i] > 0 ? ' gone' : '';
		const text = delta === 0 ? '0' : changeText(view, delta) + (noise ? ' (noise)' : state);
		return make('span', {class: 'number ' + (noise ? 'soft' : changeClass(delta)), text});
	};
	const text = (title, width, get, style, whole) => ({
		title, width, text: get, cell: i => make('span', {class: style, text: get(i), title: (whole || get)(i)}),
	});
	const width = view.sampled && !view.base ? '170px' : '100px';
	const figures = view.base ? [
		{title: 'Own change', width: '130px', value: i => e.flat[i] - e.wasFlat[i], cell: change('flat', 'wasFlat', 'errFlat')},
		{title: 'before', width: '90px', value: i => e.wasFlat[i], cell: plain('wasFlat')},
		{title: 'after', width: '90px', value: i => e.flat[i], cell: plain('flat')},
		{title: 'Total change', width: '130px', value: i => e.cum[i] - e.wasCum[i], cell: change('cum', 'wasCum', 'errCum')},
		{title: 'before', width: '90px', value: i => e.wasCum[i], cell: plain('wasCum')},
		{title: 'after', width: '90px', value: i => e.cum[i], cell: plain('cum')},
	] : [
		{title: 'Own', width, value: i => e.flat[i], cell: plain('flat', 'errFlat')},
		{title: 'Own %', width: '80px', value: i => e.flat[i], cell: share('flat')},
		{title: 'Total', width, value: i => e.cum[i], cell: plain('cum', 'errCum')},
		{title: 'Total %', width: '80px', value: i => e.cum[i], cell: share('cum')},
	];
	const some = get => e.name.some((_, i) => get(i) !== '');
	return figures.concat([
		text('Function', 'minmax(200px, 3fr)', i => names.name(i), 'name'),
		text('Place', 'minmax(100px, 1.2fr)', i => names.place(i), 'soft', i => names.where(i)),
		text('Module', 'minmax(80px, 1fr)', i => names.module(i), 'soft'),
	].filter(c => c.title === 'Function' || some(c.text)));
}

export class Top {
	constructor(panel, on) {
		this.panel = panel;
		this.on = on;
		this.head = make('div', {class: 'head', role: 'row'});
		this.list = new List('grid', 'row', {
			draw: (i, row) => this.draw(i, row),
			open: i => on.open(this.shown[i]),
			pick: i => on.pick(this.shown[i]),
		});
		this.list.box.id = 'top';
		this.list.box.setAttribute('aria-label', 'Functions by size');
		this.more = make('div', {class: 'bar soft'});
		this.list.box.prepend(this.head);
		panel.append(this.list.box, this.more);
	}

	show(doc, view) {
		this.view = view;
		this.names = new Names(doc, view);
		this.columns = topColumns(view, this.names);
		this.grid = this.columns.map(c => c.width).join(' ');
		this.all = Array.from({length: this.names.count - 1}, (_, i) => i + 1);
		this.sortBy(0, true);
	}

	/** Largest first for figures (of changes, by size whichever way), A to Z for words. */
	sortBy(column, first) {
		const c = this.columns[column];
		if (!first && this.column === column)
			this.backward = !this.backward;
		else
			this.backward = false;
		this.column = column;
		const e = this.view.entries;
		const changes = this.view.base && /change/.test(c.title);
		const value = changes ? i => Math.abs(c.value(i)) : c.value;
		const second = changes ? i => Math.abs(e.cum[i] - e.wasCum[i]) : i => e.cum[i];
		if (c.value)
			this.all.sort((a, b) => value(b) - value(a) || second(b) - second(a) || a - b);
		else
			this.all.sort((a, b) => (c.text(a) < c.text(b) ? -1 : c.text(a) > c.text(b) ? 1 : a - b));
		if (this.backward)
			this.all.reverse();
		this.drawHead();
		this.find(this.search || '');
	}

	drawHead() {
		this.head.style.gridTemplateColumns = this.grid;
		this.head.replaceChildren(...this.columns.map((c, at) => {
			const b = make('button', {type: 'button', role: 'columnheader', text: c.title, class: c.value ? 'number' : ''});
			if (at === this.column)
				b.setAttribute('aria-sort', (c.value !== undefined) !== this.backward ? 'descending' : 'ascending');
			b.addEventListener('click', () => {
				this.sortBy(at, false);
				this.head.children[at].focus();
			});
			return b;
		}));
	}

	find(text) {
		this.search = text;
		const re = text === '' ? null : expression(text);
		this.shown = re === null ? this.all
			: this.all.filter(i => re.test(this.names.name(i)) || re.test(this.names.file(i)));
		this.list.reset(this.shown.length, false);
		const n = this.view.notListed;
		this.more.textContent = countText(this.shown.length) + ' of ' + countText(this.all.length) + ' functions' +
			(n > 0 ? ', ' + countText(n) + ' smaller ones are not in this page' : '');
	}

	draw(at, row) {
		row.style.gridTemplateColumns = this.grid;
		for (const c of this.columns) {
			const cell = c.cell(this.shown[at]);
			cell.setAttribute('role', 'gridcell');
			row.append(cell);
		}
	}

	focus() {
		this.list.box.focus();
	}
}
