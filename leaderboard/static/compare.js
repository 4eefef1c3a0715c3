// The compare page: the paired difference between any two methods, with its jackknife interval, computed here.
"use strict";

// ---- differences ----
/** The paired difference of two methods on one dataset, first less second: {value, half, df}; null if they share no
 * canonical split with the same train seeds. */
function difference(first, second) {
  const both = (first ?? []).map((one) => [one, (second ?? []).find((other) => other[0] === one[0] && other[1] === one[1])])
    .filter(([one, other]) => other && one[2] !== null && other[2] !== null);
  if (!both.length) return null;
  const n = both.length;
  const value = both.reduce((total, [one, other]) => total + one[2] - other[2], 0) / n;
  const size = Math.max(...both.flatMap(([one, other]) => [Math.abs(one[2]), Math.abs(other[2])]));
  const parts = both.map(([one, other]) => {
    const runs = one[3].map((x, r) => (x === null || other[3][r] === null ? NaN : (x - other[3][r]) / n));
    return [runs.reduce((total, x) => total + x * x, 0), runs.length - 1];
  });
  const total = parts.reduce((sum, [part]) => sum + part, 0);
  if (!(Math.sqrt(total) > 1e-6 * size)) return { value, half: NaN, df: NaN };
  const df = total ** 2 / parts.reduce((sum, [part, of]) => sum + part ** 2 / of, 0);
  return { value, half: quantile(df) * Math.sqrt(total), df };
}

/**
 * The weighted mean of differences: half-widths add in squares, with the fewest degrees of freedom of any. Up to a quarter
 * of them without an interval count with the mean of the others' squares (benchmark.measure.intervals.weighted).
 */
function mean(differences, weights) {
  const value = differences.reduce((total, d, i) => total + weights[i] * d.value, 0);
  const known = differences.filter((d) => !Number.isNaN(d.half));
  const enough = differences.length - known.length <= differences.length / 4;
  const usual = enough ? known.reduce((total, d) => total + d.half ** 2, 0) / known.length : NaN;
  const squares = differences.map((d) => (Number.isNaN(d.half) ? usual : d.half ** 2));
  const half = Math.sqrt(squares.reduce((total, square, i) => total + weights[i] ** 2 * square, 0));
  return { value, half, df: Number.isNaN(half) ? NaN : Math.min(...known.map((d) => d.df)) };
}

/** Return the mean over families, and the difference in each family. */
function overFamilies(datasets, differences) {
  const families = Map.groupBy ? Map.groupBy(datasets.keys(), (i) => datasets[i].family)
    : datasets.reduce((map, { family }, i) => map.set(family, [...(map.get(family) ?? []), i]), new Map());
  const weights = datasets.map(({ family }) => 1 / families.size / families.get(family).length);
  const each = [...families.values()].map((of) => mean(of.map((i) => differences[i]), of.map(() => 1 / of.length)));
  return { mean: mean(differences, weights), each };
}

const pOf = ({ value, half, df }) => (half > 0 ? twoSided((quantile(df) * Math.abs(value)) / half, df) : NaN);
const excludesZero = ({ value, half }) => Math.abs(value) > half;

/** Holm's adjusted p-values; NaN stays NaN. */
function holm(p) {
  const order = p.map((_, i) => i).filter((i) => !Number.isNaN(p[i])).sort((a, b) => p[a] - p[b]);
  const adjusted = [...p];
  let most = 0;
  order.forEach((i, rank) => { most = Math.max(most, (order.length - rank) * p[i]); adjusted[i] = Math.min(1, most); });
  return adjusted;
}

/** How many bits are set in one string of hexadecimal digits and not in the other. */
function alone(one, other) {
  let count = 0;
  for (let i = 0; i < one.length; i += 1) {
    for (let bits = parseInt(one[i], 16) & ~parseInt(other[i], 16); bits; bits &= bits - 1) count += 1;
  }
  return count;
}

// ---- the page ----
async function comparePage() {
  const about = await file("compare/", "methods");
  const form = $("#choice");
  const chosen = (state) => about.sets.find(({ key }) => key === state.on).datasets.map((i) => [about.datasets[i], i]);

  function options(field, entries, wanted) {
    field.replaceChildren(...entries.map(([value, text]) => make("option", { value }, text)));
    field.value = entries.some(([value]) => value === wanted) ? wanted : entries[0][0];
  }

  /** The methods on some of these datasets by name, which may be another method for another task, with other settings. */
  function present(datasets) {
    const names = new Map();
    for (const [i, { name, slug }] of about.methods.entries()) {
      if (datasets.some(([, d]) => about.cells[d][i])) names.set(names.has(name) ? slug : name, i);
    }
    return names;
  }
  const inUnits = (m, task) => task === "regression" && ["churn", "mae"].includes(m.key);
  const listed = (names) => [...names].map(([name, i]) => [name, about.methods[i].title]);

  const sets = about.sets.map(({ key, title }) => [key, title]);
  options(form.elements.on, sets, "classification/headline"); // as the command compare does
  const every = listed(present(about.datasets.map((dataset, i) => [dataset, i])));
  const usual = [...present(chosen({ on: form.elements.on.value })).keys()];
  const a = usual.includes("twin") ? "twin" : usual[usual.length - 1];
  options(form.elements.a, every, a);
  options(form.elements.b, every, usual.includes("bagging") ? "bagging" : usual.find((name) => name !== a));
  const keys = new Map(Object.values(about.measures).flat().map((m) => [m.key, m.name]));
  options(form.elements.measure, [...keys]);

  const shown = ({ value, half }, m) => {
    const numbers = [value, value - half, value + half].map((x) => x * m.scale);
    const [text, low, high] = numbers.map((x) => number(x, together(m.digits, ...numbers), true));
    return [text, half > 0 ? `[${low}, ${high}]` : ""];
  };
  const colour = (d, m) => (excludesZero(d) ? (d.value * m.better > 0 ? "better" : "worse") : "");

  /** The splits of a method on a dataset, with the value and influences of a measure. */
  const splits = (m, i, a) => about.cells[i][a]?.map(([split, seeds], k) => [split, seeds, ...m.values[i][a][k]]);

  const erm = about.methods.findIndex(({ name }) => name === "erm");
  const average = (parts) => (parts ?? []).reduce((sum, [, , value]) => sum + value / parts.length, 0);

  /** Return the comparison of two methods in a measure on the datasets that have both, or null. */
  function compared(datasets, m, a, b) {
    const found = datasets.map(([, i]) => {
      const d = difference(splits(m, i, a), splits(m, i, b));
      const unit = m.ofErm ? average(splits(m, i, erm)) : 1;
      return d && unit ? { ...d, value: d.value / unit, half: d.half / unit } : null;
    });
    const kept = datasets.map((_, k) => k).filter((k) => found[k]);
    if (!kept.length) return null;
    return { measure: m, kept, found, ...overFamilies(kept.map((k) => datasets[k][0]), kept.map((k) => found[k])) };
  }

  /** How many examples flip under one of two methods alone, for each of them; null where flips are not counted. */
  function alones(flips, i, a, b) {
    const ofSplit = (x, split) => flips[i][x][about.cells[i][x].findIndex((one) => String(one) === String(split))];
    const both = about.cells[i][a].map((split) => [ofSplit(a, split), ofSplit(b, split)]).filter(([one, other]) => one && other);
    return both.length ? both.reduce(([x, y], [one, other]) => [x + alone(one, other), y + alone(other, one)], [0, 0]) : null;
  }

  let turns = 0;
  async function apply(state) {
    turns += 1;
    const turn = turns;
    const task = state.on.split("/")[0];
    options(form.elements.measure, about.measures[task].map((m) => [m.key, m.name]), state.measure);
    const wanted = form.elements.measure.value;
    // Churn is never shown without quality, nor another measure without both; the command compare shows the same.
    const measures = about.measures[task].filter(({ key }) => ["matched_churn", "one_minus_icc", "churn", "accuracy", "mae", wanted].includes(key));
    const datasets = chosen(state);
    await Promise.all(measures.map(async (m) => { m.values = await measured(m.key, datasets.map(([, i]) => i)); }));
    if (turn !== turns) return; // superseded by a later choice
    if (datasets.length > 1) { // units differ between datasets
      for (const [k, m] of measures.entries()) if (inUnits(m, task)) measures[k] = { ...m, title: `Δ ${m.name} (% of ERM's)`, scale: 100, digits: 1, ofErm: true };
    }
    const names = present(datasets);
    for (const name of ["a", "b"]) options(form.elements[name], listed(names), state[name]);
    const [a, b] = ["a", "b"].map((name) => names.get(form.elements[name].value));
    const [first, second] = [about.methods[a].title, about.methods[b].title];
    const measure = measures.find(({ key }) => key === wanted);
    const pairs = matrix(datasets, measure);
    const found = a === b ? [] : measures.map((m) => compared(datasets, m, a, b)).filter(Boolean);
    const pair = `${Math.min(a, b)},${Math.max(a, b)}`;
    $("#verdict").replaceChildren(...(found.length ? found.map((one) => verdict(one, first, second, pair, matrix(datasets, one.measure)))
      : [make("p", {}, a === b ? "Choose two different methods." : "No dataset of this kind has both methods at the same train seeds.")]));
    $("#matrix").replaceChildren(...pairs.rows(a, b, measure));
    $("#matrix-note").textContent = `Of the ${pairs.of} methods that ${datasets.length > 1 ? `all ${datasets.length} of these datasets have` : "this dataset has"}. Each cell shows ${measure.title} of the row's method minus that of the column's, as a mean over families, and on how many families the row's method has the better value. Green: the row is better, red: worse, both with p < 0.05 after Holm's adjustment for ${pairs.tests.toLocaleString("en")} ${pairs.tests === 1 ? "pair" : "pairs"}; grey: neither.`;
    const flips = task === "classification" && found.length ? await file("compare/", "flips") : [];
    if (turn !== turns) return;
    $("#each").hidden = !found.length;
    $("#each").replaceChildren(...(found.length ? each(datasets, found, a, b, flips) : []));
  }

  /** One paragraph: is the first method better, by how much, and on how many families? */
  function verdict({ measure, mean: over, each: families }, first, second, pair, { adjusted: known, tests }) {
    const adjusted = known.get(pair);
    const better = excludesZero(over) ? Math.sign(over.value) * measure.better : 0;
    const [value, ends] = shown(over, measure);
    const side = measure.better || 1; // of neither side, the higher is counted first
    const of = (sign) => families.filter((d) => excludesZero(d) && Math.sign(d.value) * side === sign).length;
    const head = better !== 0 ? `On these datasets, ${better > 0 ? first : second} is better in ${measure.name}${adjusted >= 0.05 ? ", as a single comparison" : ""}`
      : measure.better !== 0 || !excludesZero(over) ? `It is unclear whether ${first} and ${second} differ in ${measure.name}`
        : `On these datasets, ${measure.name} is ${over.value > 0 ? "higher" : "lower"} with ${first}`;
    const p = adjusted === undefined ? " No p-value: some of these datasets have only one of the two, and p-values are adjusted for all pairs of the methods on all of them."
      : Number.isNaN(adjusted) ? "" : ` p ${adjusted < 0.001 ? "< 0.001" : `= ${adjusted.toPrecision(2)}`} on these datasets after Holm's adjustment for ${tests.toLocaleString("en")} ${tests === 1 ? "pair" : "pairs"} of methods.`;
    const open = families.length - of(1) - of(-1);
    return make("div", {}, make("h2", {}, head), make("p", {}, `${first} minus ${second}, ${measure.title}: ${value} ${ends} on average over ${families.length} ${families.length === 1 ? "family" : "families"} of datasets${families.length === 1 ? "" : " that both have"}.${p} ${measure.better ? `${first} wins on ${of(1)} and loses on ${of(-1)}` : `It is higher on ${of(1)} and lower on ${of(-1)}`}; on ${open} the interval includes 0.`));
  }

  /** The table of datasets: a column with a picture for each measure, and what flips under one method alone. */
  function each(datasets, found, a, b, flipping) {
    const [first, second] = [about.methods[a], about.methods[b]];
    const units = [...new Set(datasets.map(([dataset]) => dataset.unit))];
    const title = (m) => (units.length === 1 && units[0] && !m.title.includes("(") && inUnits(m, datasets[0][0].task) ? `${m.title} (${units[0]})` : m.title);
    const flips = datasets[0][0].task === "classification";
    const head = make("tr", {}, make("th", { scope: "col" }, "Dataset"), ...found.map(({ measure }) => make("th", { scope: "col" }, title(measure))),
      make("th", { scope: "col", class: "left" }, flips ? "Flip under one alone" : "Molecules"), make("th", { scope: "col", class: "left" }, "Marks"));
    const most = found.map(({ kept, found: of }) => Math.max(...kept.map((k) => Math.abs(of[k].value) + (of[k].half || 0)), 1e-12));
    const cell = (d, m, size) => {
      if (!d) return make("td", { class: "soft" }, "–");
      const [value, ends] = shown(d, m);
      return make("td", { class: colour(d, m) }, value, " ", make("span", { class: "interval" }, ends), forest(d, size));
    };
    const rows = datasets.map(([dataset, i], k) => [dataset, i, k]).filter(([, , k]) => found.some(({ found: of }) => of[k])).map(([dataset, i, k]) => {
      const marks = [[first.title, a], [second.title, b]].filter(([, x]) => dataset.left[x]).map(([text, x]) => `${dataset.left[x]} ${text}`).join("; ");
      const counts = flips ? alones(flipping, i, a, b) : null;
      const href = (x) => `flips/${dataset.name}.html#under=${x.slug}&sort=contrast&show=${first.slug}+${second.slug}`;
      const links = counts ? [make("a", { href: href(first) }, `${counts[0]} under ${first.title}`), make("br"), make("a", { href: href(second) }, `${counts[1]} under ${second.title}`)]
        : [make("a", { href: href(first) }, "predictions")];
      return make("tr", {}, make("th", { scope: "row" }, make("a", { href: `datasets/${dataset.name}.html` }, dataset.title)),
        ...found.map(({ found: of, measure }, n) => cell(of[k], measure, most[n])), make("td", { class: "left small" }, ...links), make("td", { class: "left soft" }, marks));
    });
    return [make("thead", {}, head), make("tbody", {}, ...rows)];
  }

  /** Draw a difference with its interval on a scale from −most to +most. */
  function forest({ value, half }, most) {
    const x = (v) => 50 + (47 * v) / most;
    const line = half > 0 ? [make("line", { class: "ends", x1: x(value - half), x2: x(value + half), y1: 5, y2: 5 })] : [];
    return make("svg", { class: "difference", viewBox: "0 0 100 10", "aria-hidden": "true" },
      make("line", { class: "zero", x1: 50, x2: 50, y1: 0, y2: 10 }), ...line, make("circle", { cx: x(value), cy: 5, r: 2.2 }));
  }

  const matrices = new Map();
  function matrix(datasets, m) {
    const key = `${datasets.map(([, i]) => i).join(",")}/${m.key}`;
    if (matrices.has(key)) return matrices.get(key);
    const nameOf = new Map([...present(datasets)].map(([name, i]) => [i, name]));
    const everywhere = about.methods.map((_, i) => i).filter((i) => datasets.every(([, d]) => about.cells[d][i]));
    const pairs = new Map();
    for (const a of everywhere) for (const b of everywhere) if (a < b) pairs.set(`${a},${b}`, compared(datasets, m, a, b));
    const known = [...pairs].filter(([, pair]) => pair);
    const values = holm(known.map(([, pair]) => pOf(pair.mean)));
    const adjusted = new Map(known.map(([name], k) => [name, values[k]]));
    const total = (a) => everywhere.filter((b) => b !== a).reduce((sum, b) => {
      const pair = pairs.get(`${Math.min(a, b)},${Math.max(a, b)}`);
      return sum + (pair ? pair.mean.value * (a < b ? 1 : -1) : 0);
    }, 0);
    const sums = new Map(everywhere.map((a) => [a, total(a)]));

    function rows(first, second, measure) {
      const order = [...everywhere].sort((a, b) => -measure.better * (sums.get(a) - sums.get(b)));
      const letter = (k) => String(k + 1);
      const head = make("tr", {}, make("th", { scope: "col" }, "#"), make("th", { scope: "col", class: "left" }, "Method"), ...order.map((b, k) => make("th", { scope: "col", title: about.methods[b].title }, letter(k))));
      const body = order.map((a, k) => make("tr", {}, make("td", {}, letter(k)), make("th", { scope: "row", class: "left" }, about.methods[a].title), ...order.map((b) => {
        if (a === b) return make("td", { class: "soft" }, "·");
        const name = `${Math.min(a, b)},${Math.max(a, b)}`;
        const pair = pairs.get(name);
        if (!pair) return make("td", { class: "soft" }, "–");
        const sign = a < b ? 1 : -1;
        const value = pair.mean.value * sign;
        const real = adjusted.get(name) < 0.05;
        const look = real ? (value * measure.better > 0 ? "better" : "worse") : "soft";
        const text = number(value * measure.scale, together(measure.digits, value * measure.scale), true);
        const won = pair.each.filter((d) => d.value * sign * measure.better > 0).length;
        const p = adjusted.get(name);
        const shown = `${won}/${pair.each.length}`; // the name of a button holds its text as it stands, for those who say it aloud
        const label = `${about.methods[a].title} against ${about.methods[b].title}: ${text} ${shown} families on which it is better${Number.isNaN(p) ? "" : `, p ${p < 0.001 ? "< 0.001" : `= ${p.toPrecision(2)}`}`}`;
        const button = make("button", { type: "button", class: look, "aria-label": label, title: label }, text, " ", make("small", {}, shown));
        button.addEventListener("click", () => { form.set({ a: nameOf.get(a), b: nameOf.get(b) }); scrollTo({ top: 0 }); });
        const cell = make("td", {}, button);
        if ((a === first && b === second) || (a === second && b === first)) cell.classList.add("chosen");
        return cell;
      })));
      return [make("thead", {}, head), make("tbody", {}, ...body)];
    }
    matrices.set(key, { rows, adjusted, tests: known.length, of: everywhere.length });
    return matrices.get(key);
  }

  form.hidden = false;
  const troubled = (error) => { $("#verdict").textContent = error.message; };
  form.set = bind(form, (state) => apply(state).catch(troubled));
  for (const link of $$(".samplings a")) link.addEventListener("click", () => { link.hash = location.hash; }); // keeps the choice
}

document.addEventListener("DOMContentLoaded", () => comparePage().catch((error) => { $("#verdict").textContent = error.message; }));
