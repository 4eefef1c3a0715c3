// The script of all pages; those that need more have another beside it. Nothing is fetched.
"use strict";

// ---- light and dark: the system's setting until the reader chooses ----
const remembered = {
  get: () => { try { return localStorage.getItem("theme"); } catch { return null; } },
  set: (value) => { try { localStorage.setItem("theme", value); } catch { /* a private window */ } },
};
const theme = () => document.documentElement.dataset.theme
  || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
if (remembered.get()) document.documentElement.dataset.theme = remembered.get();

function themeButton(button) {
  const show = () => button.setAttribute("aria-label", `Switch to a ${theme() === "dark" ? "light" : "dark"} page`);
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    remembered.set(theme());
    show();
    dispatchEvent(new Event("theme"));
  });
  show();
}

// ---- small helpers ----
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

/** Create an element: make("td", {class: "x"}, "text", child). */
function make(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "circle", "line"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const data = (id) => JSON.parse($(`#${id}`).textContent);

/** The digits of numbers shown together: "g", three significant ones, where three decimals leave nothing, or none. */
function together(digits, ...values) {
  const largest = Math.max(...values.filter((x) => !Number.isNaN(x)).map(Math.abs));
  return digits !== 3 ? digits : largest > 0 && largest < 1e-4 ? "g" : largest < 1e5 ? 3 : 0;
}

/** Format a number with a true minus: 1.234 → "1.2", or "+1.2" if signed. */
function number(value, digits = 1, signed = false) {
  const text = digits === "g" ? Math.abs(value).toPrecision(3).replace("-", "−") : Math.abs(value).toFixed(digits);
  const zero = Number(text) === 0;
  return (value < 0 && !zero ? "−" : signed && !zero ? "+" : "") + text;
}

const interval = ([, low, high], digits, signed) =>
  low === null ? "" : `[${number(low, digits, signed)}, ${number(high, digits, signed)}]`;

/** Bind a form to the address, where the hash stores changes from the initial state; return a setter of fields. */
function bind(form, apply) {
  const fields = [...form.elements].filter((field) => field.name);
  const read = () => {
    const state = {};
    for (const field of fields) {
      if (field.type !== "checkbox") state[field.name] = field.value;
      else state[field.name] = [state[field.name], field.checked ? field.value : ""].filter(Boolean).join(" ");
    }
    return state;
  };
  const initial = read();
  const fill = () => {
    const wanted = { ...initial, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
    for (const field of fields) {
      const value = wanted[field.name];
      if (field.type === "checkbox") field.checked = value.split(" ").includes(field.value);
      else {
        field.value = value;
        if (field.value !== value) field.value = initial[field.name]; // no such option or number
      }
    }
  };
  const changed = () => {
    const state = read();
    const differs = Object.entries(state).filter(([name, value]) => value !== initial[name]);
    const hash = new URLSearchParams(differs).toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    apply(state);
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  addEventListener("hashchange", () => { fill(); apply(read()); });
  fill();
  apply(read());
  return (values) => { for (const [name, value] of Object.entries(values)) form.elements[name].value = value; changed(); };
}

// ---- tables ----
const value = (cell) => cell.dataset.value ?? cell.textContent.trim();

/** Sort rows by one column: numbers by size, texts alphabetically, missing values last. */
function sortRows(table, index, direction) {
  const body = table.tBodies[0];
  const key = (row) => {
    const text = value(row.cells[index]).replaceAll("−", "-").replaceAll(",", "");
    const parsed = parseFloat(text);
    return text === "" || text === "–" ? null : Number.isNaN(parsed) ? text.toLowerCase() : parsed;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : direction * compare(a, b)));
  body.append(...rows.map(([, row]) => row));
  mark(table, index, direction);
}

/** Say in the header by which column the rows are sorted. */
function mark(table, index, direction) {
  for (const [i, th] of headers(table).entries()) {
    if (i === index) th.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    else th.removeAttribute("aria-sort");
  }
}

const headers = (table) => [...table.tHead.rows[table.tHead.rows.length - 1].cells];

/** Add a sort button to each header, which sorts the best first; `chosen(index, direction)` replaces that action. */
function sortable(table, chosen = (index, direction) => sortRows(table, index, direction)) {
  if (table.dataset.sortable === "done" || !table.tHead || !table.tBodies[0]) return;
  table.dataset.sortable = "done";
  for (const [index, th] of headers(table).entries()) {
    const name = { type: "button", "aria-label": `Sort by ${th.textContent.trim()}` };
    const button = $("a", th) ? make("button", name) : make("button", { type: "button" }, ...th.childNodes); // no link inside
    th.append(button);
    const best = th.dataset.better === "up" ? "descending" : "ascending";
    const other = { ascending: "descending", descending: "ascending" };
    button.addEventListener("click", () => {
      const next = th.getAttribute("aria-sort") === best ? other[best] : best;
      chosen(index, next === "ascending" ? 1 : -1);
    });
  }
}

// ---- the leaderboard ----
const PARTS = ["learner", "features", "remedy", "tuning"];
const STATIC = document.currentScript.src.replace(/[^/]*$/, "");

/** Load the scripts of the plot, one after another, once. */
const drawing = (() => {
  let done = null;
  const names = ["chart.umd.min.js", "chartjs-plugin-zoom.min.js", "plot.js"];
  return () => (done ??= names.reduce((before, name) => before.then(() => script(STATIC + name)), Promise.resolve()));
})();

function leaderboard(board) {
  const form = $("#filters");
  const first = $("section", board);
  const sections = new Map([[first.dataset.set, first]]); // the others are loaded when they are chosen
  const order = new Map(); // initial rows of each table, in their places

  async function fetched(set) {
    const holder = make("template");
    holder.innerHTML = await file(board.dataset.folder, set);
    sections.set(set, holder.content.firstElementChild);
  }

  let wanted = null; // the last state asked for

  async function apply(state) {
    wanted = state;
    if (!sections.has(state.set)) await fetched(state.set);
    if (state !== wanted) return;
    const section = sections.get(state.set);
    if (!section.isConnected) $("section", board).replaceWith(section);
    const table = $("table", section);
    const keys = headers(table).map((th) => th.dataset.key);
    if (!order.has(table)) order.set(table, [...table.tBodies[0].rows]);
    table.classList.remove("waiting");
    const rows = order.get(table);
    sortable(table, (index, direction) => choose({ sort: keys[index], dir: direction > 0 ? "up" : "down" }));
    table.tBodies[0].append(...rows);
    const by = keys.includes(state.sort) ? keys.indexOf(state.sort) : keys.indexOf("place");
    if (keys[by] !== "place" || state.dir === "down") sortRows(table, by, state.dir === "down" ? -1 : 1);
    else mark(table, by, 1);
    const ranked = rows.filter((row) => !row.classList.contains("unranked"));
    const needle = state.q.trim().toLowerCase();
    const budget = state.compute === "" ? Infinity : Number(state.compute);
    const compute = keys.indexOf("compute");
    const composed = keys.includes("features");
    const part = (row, name) => (name === "learner" ? row.cells[0].dataset.learner : row.cells[keys.indexOf(name)].textContent.trim());
    const bestOf = new Set();
    for (const row of rows) {
      row.hidden = !row.cells[0].dataset.title.toLowerCase().includes(needle) || Number(row.cells[compute].dataset.value || 0) > budget
        || (!state.incomplete && row.matches(".unranked:not(.own)") && ranked.length > 0)
        || (composed && PARTS.some((name) => state[name] && state[name] !== "best" && state[name] !== part(row, name)));
      if (row.hidden || !composed || state.learner !== "best" || row.matches(".own, .reference, .unranked")) continue;
      row.hidden = bestOf.has(part(row, "learner")); // rows are in their places
      bestOf.add(part(row, "learner"));
    }
    for (const label of $$("[data-part]", form)) {
      label.hidden = !composed;
      const there = new Set(composed ? rows.map((row) => part(row, label.dataset.part)) : []);
      for (const option of $$("option:not([value])", label)) option.hidden = option.disabled = !there.has(option.value);
    }
    const visible = rows.filter((row) => !row.hidden);
    const says = (i) => { // something that differs between the methods; of what they are made of, those that are shown
      const compared = PARTS.includes(keys[i]) ? ranked.filter((row) => !row.hidden) : ranked;
      const texts = new Set(compared.map((row) => row.cells[i]?.textContent.trim()));
      const tied = keys[i] === "place" && !texts.has("–"); // all have one range of places: nobody is shown to be first
      return i >= 0 && (tied || compared.length < 2 || texts.size > 1);
    };
    const shown = new Set(["method", ...state.show.split(" ")].filter((key) => says(keys.indexOf(key))));
    for (const row of table.rows) [...row.cells].forEach((cell, i) => { cell.hidden = !shown.has(keys[i]); });
    const some = visible.length === rows.length ? "" : `${visible.length} of `;
    $("#count").replaceChildren(`${some}${rows.length}`, make("span", {}, composed ? " pipelines" : " methods"));
    standing(table, ranked, state.mine);
    const plotting = state.view === "plot";
    $("#plot").hidden = !plotting;
    $(".scroll", section).hidden = plotting;
    if (plotting) {
      const pick = (slugs) => choose({ pick: slugs.join(" ") });
      drawing().then(() => draw(table, visible, state.pick.split(" ").filter(Boolean), pick))
        .catch((error) => { $("#plot-note").textContent = error.message; });
    }
  }
  form.hidden = false;
  form.elements.view.addEventListener("input", ({ target: { checked } }) => { // the plot has room for all
    const { learner } = form.elements;
    if (learner?.value === (checked ? "best" : "")) learner.value = checked ? "" : "best";
  });
  const choose = bind(form, (state) => apply(state).catch((error) => { $("#count").textContent = error.message; }));
  $("#mine").closest("details").open = form.elements.mine.value !== "";
  themed(() => choose({}));
}

/** Say how many of these methods have a lower value than `mine` in the measure that orders them, and which are closest. */
function standing(table, rows, mine) {
  const y = headers(table).findIndex((th) => th.dataset.key === table.dataset.y);
  const of = headers(table)[y].textContent.trim();
  $("#mine-of").textContent = of;
  if (mine === "" || !(Number(mine) >= 0 && Number(mine) <= 100)) {
    $("#mine").textContent = mine === "" ? "How many methods have less?" : "Expected a percentage, from 0 to 100.";
    return;
  }
  const known = rows.filter((row) => row.cells[y].dataset.value).map((row) => [Number(row.cells[y].dataset.value), row.cells[0].dataset.title])
    .sort(([a], [b]) => a - b);
  if (!known.length) { $("#mine").textContent = "No method to compare it with."; return; }
  const lower = known.filter(([value]) => value < Number(mine));
  const [below, above] = [lower[lower.length - 1], known[lower.length]].map((one) => one && `${one[1]} (${number(one[0])})`);
  $("#mine").textContent = `${lower.length} of ${known.length} have less${[below, above].every(Boolean) ? `: it would stand between ${below} and ${above}`
    : `; the closest is ${below ?? above}`}. A place depends on accuracy and on intervals, too.`;
}

/** Call `show` when the page becomes light or dark. */
function themed(show) {
  for (const [at, event] of [[window, "theme"], [matchMedia("(prefers-color-scheme: dark)"), "change"]]) at.addEventListener(event, show);
}

/** Plot the first table of a dataset's page while the section is open, whose data name the columns as their heads do. */
function plotted(section) {
  const { x, y, better, unit } = section.dataset;
  const table = $(".scroll table", section.parentElement);
  for (const th of headers(table)) th.dataset.key = th.textContent.trim();
  Object.assign(table.dataset, { x, y, unit });
  $(`th[data-key="${x}"]`, table).dataset.better = better;
  let picked = [];
  const show = () => section.open && drawing()
    .then(() => draw(table, [...table.tBodies[0].rows], picked, (slugs) => { picked = slugs; show(); }))
    .catch((error) => { $("#plot-note").textContent = error.message; });
  $("#plot").hidden = false;
  section.addEventListener("toggle", show);
  themed(show);
}

// ---- data files ----
const arrived = new Map(); // contents of the data files, which call load(name, packed)
const packed = new Map();
function load(name, content) { packed.set(name, content); }

/** Save `text` as a file. */
function download(name, text, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Save a figure of the page as it looks on white. */
function saveDrawing(figure) {
  const svg = $("svg", figure).cloneNode(true);
  svg.setAttribute("color", "#1b1b1b");
  download(`${figure.id}.svg`, new XMLSerializer().serializeToString(svg), "image/svg+xml");
}

/** Run a script of the site, from file:// too. */
const script = (src) => new Promise((resolve, reject) => {
  const element = make("script", { src });
  element.onload = resolve;
  element.onerror = () => reject(new Error(`${src} is missing: rebuild the site`));
  document.head.append(element);
});

/** Load a data file beside the page with a script tag, which works from file:// too, and unpack it. */
async function file(folder, name) {
  if (arrived.has(name)) return arrived.get(name);
  await script(`${folder}${name}.js`);
  const bytes = Uint8Array.from(atob(packed.get(name)), (character) => character.charCodeAt(0));
  const text = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  arrived.set(name, JSON.parse(await text));
  return arrived.get(name);
}

/** Return the values of a measure by dataset: those of the headline, and all of them if others of these are wanted. */
async function measured(key, wanted) {
  const first = await file("compare/", key);
  if (wanted.every((i) => first[i])) return first;
  const more = await file("compare/", `${key}-more`);
  return first.map((of, i) => of ?? more[i]);
}

// ---- which method to use ----
const UNITS = {
  classification: { scale: 1000, digits: 0, churn: "Changed calls per 1,000", change: "Δ matched accuracy (pp)", loss: "loss of matched accuracy", suffix: "pp", field: "Acceptable loss of matched accuracy (pp)" },
  regression: { scale: 100, digits: 1, churn: "1 − ICC (%)", change: "Δ MAE (%)", loss: "error increase", suffix: "%", field: "Acceptable error increase (% of ERM's MAE)" },
};

/** Return whether a method stays within the limits, and why; `loss` is null for the reference.
 * The measured loss must stay within its limit; if `strict`, its whole interval must. */
function judge(method, state, unit) {
  if (method.unfit) return [false, method.unfit];
  if (state.pay !== "" && method.compute !== null && method.compute > Number(state.pay)) return [false, `takes ${number(method.compute)} × ERM's compute`];
  if (method.loss === null) return [true, "the reference"];
  if (state.lose === "") return [true, `any ${unit.loss} is accepted`];
  const [value, low, high] = method.loss;
  const limit = Number(state.lose);
  const text = `${limit} ${unit.suffix}`;
  if (low === null) return [value <= limit && !state.strict, `no interval to tell whether the ${unit.loss} exceeds ${text}`];
  if (low > limit) return [false, `${unit.loss} demonstrated to exceed ${text}`];
  if (high <= limit) return [true, `${unit.loss} demonstrated to be at most ${text}`];
  if (value > limit) return [false, `${unit.loss} measured to exceed ${text}, but not demonstrated`];
  return [!state.strict, `${unit.loss} measured to be at most ${text}, but not demonstrated`];
}

/** Return a method's loss as the difference in tables, which is negative for a loss of accuracy. */
function change({ loss }, task) {
  if (loss === null || task === "regression") return loss;
  const [value, low, high] = loss;
  return [-value, low === null ? null : -high, low === null ? null : -low];
}

/** Draw 1,000 squares, of which `count` flip. */
function dots(count) {
  const at = (i) => `M${(i % 50) * 10} ${Math.floor(i / 50) * 10}h8v8h-8z`;
  const path = (from, to) => Array.from({ length: to - from }, (_, i) => at(from + i)).join("");
  return make("svg", { class: "thousand", viewBox: "0 0 498 198", role: "img", "aria-label": `${count} of 1,000` },
    make("path", { class: "flips", d: path(0, count) }), make("path", { class: "still", d: path(count, 1000) }));
}

function decide() {
  const form = $("#wish");
  const answer = $("#answer");
  const link = (method) => make("a", { href: `methods/${method.slug}.html` }, method.title);

  let wanted = null; // the last state asked for

  async function apply(state) {
    wanted = state;
    const choice = await file("decide/", state.on);
    if (state !== wanted) return;
    const unit = UNITS[choice.task];
    const churn = (method) => method.churn.map((x) => (x === null ? null : x * unit.scale));
    const judged = choice.methods.map((method) => [method, ...judge(method, state, unit)]).sort(([a], [b]) => a.churn[0] - b.churn[0]);
    const reference = choice.methods.find((method) => method.loss === null);

    function amount(method) {
      const ends = churn(method);
      const words = choice.task === "regression" ? "% of the variance of predictions comes from retraining" : "of 1,000 calls change, at equally many positives";
      return make("div", {}, make("p", { class: "soft small" }, method.title),
        make("p", { class: "big" }, number(ends[0], unit.digits)), make("p", {}, `${words} ${interval(ends, unit.digits)}`),
        ...(choice.task === "regression" ? [] : [dots(Math.round(ends[0]))]));
    }

    const best = judged.find(([, fits]) => fits);
    if (choice.lacking) answer.replaceChildren(make("h2", {}, "Cannot decide yet"), make("p", {}, `${choice.lacking[0].toUpperCase()}${choice.lacking.slice(1)}.`));
    else if (!best) answer.replaceChildren(make("h2", {}, "No method fits"), make("p", {}, "Allow more compute or a larger loss."));
    else {
      const [method, , why] = best;
      const ends = change(method, choice.task);
      const loss = ends === null ? "No other method within both limits has less churn."
        : `${unit.change}: ${number(ends[0], 1, true)} ${interval(ends, 1, true)}; ${why}.`;
      const cost = method.compute === null || ends === null ? "" : ` It takes ${method.compute < 0.05 ? "less than 0.05" : number(method.compute)} times ERM's compute.`;
      const low = method.low ? [make("p", {}, make("strong", {}, method.mark), ` The average hides losses of ${method.low}.`)] : [];
      answer.replaceChildren(make("h2", {}, "Use ", link(method)), make("p", {}, loss + cost), ...low,
        make("div", { class: "pair" }, amount(method), ...(reference && reference !== method ? [amount(reference)] : [])));
    }
    $("#others tbody").replaceChildren(...judged.map(([method, fits, why]) => {
      const ends = change(method, choice.task);
      return make("tr", {}, make("th", { scope: "row" }, link(method), ...(method.mark ? [" ", make("span", { class: "mark", title: method.low && `loses ${method.low}` }, method.mark)] : [])),
        make("td", {}, number(churn(method)[0], unit.digits), " ", make("span", { class: "interval" }, interval(churn(method), unit.digits))),
        make("td", {}, ends ? number(ends[0], 1, true) : "–", " ", make("span", { class: "interval" }, ends ? interval(ends, 1, true) : "")),
        make("td", {}, method.compute === null ? "–" : number(method.compute)),
        make("td", { class: fits ? "left" : "left soft" }, make("span", { "aria-hidden": "true" }, fits ? "✓ " : "✕ "), why));
    }));
    $("#lose-unit").textContent = unit.field;
    $("#others-title").textContent = `All methods, lowest ${choice.task === "regression" ? "1 − ICC" : "matched churn"} first`;
    $("#others .churn").textContent = unit.churn;
    $("#others .change").textContent = unit.change;
    $("#others").hidden = false;
    $("#datasets").textContent = choice.note;
  }
  form.hidden = false;
  bind(form, (state) => apply(state).catch((error) => { answer.textContent = error.message; }));
}

document.addEventListener("DOMContentLoaded", () => {
  themeButton($("#theme"));
  if ($("#board")) leaderboard($("#board"));
  if ($("#plotted")) plotted($("#plotted"));
  if ($("#wish")) decide();
  $$(".cited td[id]").forEach((cell) => { // ten thousand links of one page, which would be half of its bytes
    const number = cell.firstChild;
    const link = make("a", { href: `#${cell.id}` }, number.textContent.trim());
    number.replaceWith(link, cell.childNodes.length > 1 ? " " : "");
  });
  $$("button.drawing").forEach((button) => { button.hidden = false; button.addEventListener("click", () => saveDrawing(button.closest("figure"))); });
  $$("main table").filter((table) => !table.closest("#board, .strips, .plain")).forEach((table) => sortable(table));
});
