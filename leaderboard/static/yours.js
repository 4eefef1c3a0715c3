// The page of the reader's own predictions, which are scored here, as `churn score` does, and sent nowhere.
"use strict";

const sum = (values) => values.reduce((total, x) => total + x, 0);
const average = (values) => sum(values) / values.length;

/** A mean over runs, or over the pairs of a symmetric matrix, with its jackknife interval over runs: [value, low, high]. */
function jackknife(quantity) {
  const r = quantity.length;
  const pairs = Array.isArray(quantity[0]);
  const parts = pairs ? quantity.map(sum) : quantity;
  const total = sum(parts) / (pairs ? 2 : 1);
  const count = (n) => (pairs ? (n * (n - 1)) / 2 : n);
  const value = total / count(r);
  const without = parts.map((part) => (total - part) / count(r - 1));
  const size = Math.max(...quantity.flat().map(Math.abs));
  if (!count(r - 1) || Math.max(...without) - Math.min(...without) <= 1e-9 * size) return [value, null, null];
  const middle = average(without);
  const half = quantile(r - 1) * Math.sqrt(((r - 1) / r) * sum(without.map((x) => (x - middle) ** 2)));
  return [value, value - half, value + half];
}

const different = (a, b) => average(a.map((x, t) => (x === b[t] ? 0 : 1)));
const distance = (a, b) => average(a.map((x, t) => Math.abs(x - b[t])));

/** The estimate of a measure of two runs: over all pairs, or over halvings, of which only both halves are compared. */
function ofPairs(runs, halves, of) {
  if (halves) return jackknife(halves.map(([a, b]) => of(runs[a], runs[b])));
  return jackknife(runs.map((a, i) => runs.map((b, j) => (i === j ? 0 : of(a, b)))));
}

function ofRuns(runs, halves, of) {
  const each = runs.map(of);
  return jackknife(halves ? halves.map(([a, b]) => (each[a] + each[b]) / 2) : each);
}

/** The probability that each example is called positive if the k highest scores are; those that tie at the cut share. */
function called(scores, k) {
  const cut = [...scores].sort((a, b) => b - a)[k - 1];
  const above = scores.filter((x) => x > cut).length;
  const share = (k - above) / scores.filter((x) => x === cut).length;
  return scores.map((x) => (x > cut ? 1 : x === cut ? share : 0));
}

/** 1 − ICC(2,1) of two runs: see benchmark/measure/matched.py. */
function unlike(a, b) {
  const t = a.length;
  const [ma, mb] = [average(a), average(b)];
  const product = (x, mx, y, my) => sum(x.map((v, i) => (v - mx) * (y[i] - my))) / (t - 1);
  const [aa, bb, ab] = [product(a, ma, a, ma), product(b, mb, b, mb), product(a, ma, b, mb)];
  const whole = aa + bb + (ma - mb) ** 2 - (aa + bb - 2 * ab) / t;
  return (whole - 2 * ab) / whole;
}

/** The measures of runs (R arrays of T numbers), in the units in which they are shown: [key, name, estimate, digits]. */
function measures(runs, halves, y, task, k) {
  const percent = (estimate) => estimate.map((x) => (x === null ? null : 100 * x));
  if (task === "regression") {
    return [
      ["one_minus_icc", "1 − ICC (%)", percent(ofPairs(runs, halves, unlike)), 1],
      ["churn", "Churn (target units)", ofPairs(runs, halves, distance), 3],
      ["mae", "MAE", ofRuns(runs, halves, (run) => distance(run, y)), 3],
    ];
  }
  const classes = runs.map(classesOf);
  const found = [
    ["churn", "Churn (%)", percent(ofPairs(classes, halves, different)), 1],
    ["accuracy", "Accuracy (%)", percent(ofRuns(classes, halves, (run) => 1 - different(run, y))), 1],
  ];
  if (runs.flat().every((p) => p === 0 || p === 1)) return found; // predicted classes have no order
  const replaced = (a, b) => (2 * Math.max(0, k - sum(a.map((x, t) => x * b[t])))) / a.length;
  return [["matched_churn", "Matched churn (%)", percent(ofPairs(runs.map((run) => called(run, k)), halves, replaced)), 1], ...found];
}

const classesOf = (run) => run.map((p) => (Math.fround(p) > 0.5 ? 1 : 0));

/** The places of the two runs of each halving, train seeds 1 and 2, 3 and 4, …, by the number that ends a run's name. */
function halvings(names) {
  const place = new Map(names.map((name, i) => [Number(/\d+$/.exec(name)?.[0]), i]));
  const found = [...place.keys()].filter((seed) => seed % 2 && place.has(seed + 1)).map((seed) => [place.get(seed), place.get(seed + 1)]);
  if (2 * found.length !== names.length) {
    throw new Error(`Here, two retrainings are compared if they saw the two halves of one halving, train seeds 1 and 2, 3 and 4, …: expected both of each, with names that end in the train seed; found ${names.join(", ")}.`);
  }
  return found;
}

/** Read a table: the runs by name, each in the order of `ids`. Throws an Error that names the line. */
function parse(text, ids, task) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const marks = [",", ";", "\t"].map((mark) => [lines[0].split(mark).length, mark]).sort(([a], [b]) => b - a);
  const cells = (line) => line.split(marks[0][1]).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
  const names = cells(lines[0]);
  const used = names.filter((name) => !["example_id", "run", "y_true"].includes(name));
  const long = names.includes("run");
  if (!names.includes("example_id") || new Set(names).size < names.length || (long ? used.length !== 1 : used.length < 2)) {
    throw new Error(`Expected the columns example_id and one for each of two or more retrainings, or example_id, run and a column of predictions; found ${names.join(", ")}. For other tables, use churn score.`);
  }
  const stem = (name) => name.replace(/\d+/g, "");
  const odd = long ? undefined : used.find((name) => stem(name) !== stem(used[0]));
  if (odd !== undefined) throw new Error(`${used[0]} and ${odd} differ in more than a number: expected a column for each retraining, such as run1 and run2, and neither means, descriptors nor true values.`);
  const place = new Map(ids.map((id, t) => [id, t]));
  const runs = new Map();
  for (const [i, line] of lines.entries()) {
    if (!i || !line.trim()) continue;
    const row = cells(line);
    const at = (name) => row[names.indexOf(name)];
    if (row.length !== names.length) throw new Error(`Line ${i + 1}: ${row.length} cells where the header has ${names.length}.`);
    if (!place.has(at("example_id"))) throw new Error(`Line ${i + 1}: ${at("example_id")} is not in this test set.`);
    for (const name of used) {
      const key = long ? at("run") : name;
      const x = at(name) === "" ? NaN : Number(at(name));
      if (!Number.isFinite(x) || (task !== "regression" && (x < 0 || x > 1))) {
        throw new Error(`Line ${i + 1}, ${name}: expected ${task === "regression" ? "a number" : "a probability from 0 to 1"}, found ${at(name) || "nothing"}.`);
      }
      if (!runs.has(key)) runs.set(key, new Array(ids.length).fill(null));
      if (runs.get(key)[place.get(at("example_id"))] !== null) throw new Error(`Line ${i + 1}: ${at("example_id")} is there twice.`);
      runs.get(key)[place.get(at("example_id"))] = x;
    }
  }
  for (const [name, run] of runs) {
    const missing = run.indexOf(null);
    if (missing >= 0) throw new Error(`${name}: ${ids[missing]} is missing; ${run.filter((x) => x !== null).length} of ${ids.length} examples are there.`);
  }
  const summary = [...runs.keys()].find((name) => /^(mean|avg|average|median|std|sd|ensemble|consensus|all)$/i.test(name));
  if (summary) throw new Error(`${summary} is by its name no retraining: leave out its rows.`);
  const every = [...runs];
  for (const [i, [name, run]] of task === "regression" ? [] : every.entries()) {
    const near = (p) => Math.abs(p) < 0.0101;
    if (run.every((p) => near(p - 0.5))) continue; // as any two that know nothing
    const pair = every.slice(i + 1).find(([, other]) => run.every((p, t) => near(p + other[t] - 1)));
    if (pair) throw new Error(`${name} and ${pair[0]} sum to 1, as the probabilities of both classes do: expected those of class 1, a column for each retraining.`);
  }
  if (runs.size < 2) throw new Error("One retraining has no churn: expected two or more.");
  return runs;
}

const head = (...names) => make("thead", {}, make("tr", {}, ...names.map((text) => make("th", { scope: "col", class: ["Method", "Example"].includes(text) ? "left" : "" }, text))));

async function yoursPage() {
  const about = await file("compare/", "methods");
  const form = $("#yours");
  const { on, split } = form.elements;
  const input = $("input", form);
  const usable = [...about.datasets.entries()].filter(([, d]) => d.task === "regression" || d.positives.length);
  on.append(...usable.map(([i, d]) => make("option", { value: i }, d.title)));
  const dataset = () => about.datasets[on.value];

  async function test() {
    const { name, tests } = dataset();
    const shard = tests[split.selectedIndex];
    arrived.delete(shard); // of another dataset
    return file(`flips/${name}/`, shard);
  }

  function splits() {
    split.replaceChildren(...dataset().tests.map((name) => make("option", {}, name.split("-")[0])));
    split.parentElement.hidden = dataset().tests.length < 2;
    const { task, least } = dataset();
    $("#needed").hidden = !least.length;
    $("#need-of").textContent = task === "regression" ? "1 − ICC" : "matched churn";
    $("#need").replaceChildren(head(form.dataset.sampling === "halves" ? "Halvings" : "Retrainings", "Difference (pp)"), make("tbody", {}, ...least.map(([n, x]) =>
      make("tr", {}, make("td", {}, String(n)), make("td", {}, number(100 * x, 1))))));
    say();
  }

  function say(...text) {
    for (const table of ["places", "fragile", "fragile-title"]) $(`#${table}`).hidden = true;
    $("#verdict").replaceChildren(...text);
  }

  /** The published methods with their values of a measure on this split, without those that are not to be preferred. */
  async function published(key) {
    const { left } = dataset();
    const values = (await measured(key, [on.value]))[on.value];
    const rows = Object.entries(values).map(([m, parts]) => {
      const k = about.cells[on.value][m].findIndex(([seed]) => String(seed) === split.value);
      return k < 0 || parts[k][0] === null || left[m] ? null : [about.methods[m].title, parts[k][0]];
    });
    return rows.filter(Boolean);
  }

  async function show(text) {
    const { task, positives, unit, title } = dataset();
    const known = await test();
    const named = parse(text, known.ids, task);
    const runs = [...named.values()];
    const halves = form.dataset.sampling === "halves" ? halvings([...named.keys()]) : null;
    const found = measures(runs, halves, known.y, task, positives[split.selectedIndex]);
    const [key, name, estimate, digits] = found[0];
    const scale = key === "churn" && task === "regression" ? 1 : 100;
    const [kept, what, mine] = found[found.length - 1];
    const unitOf = kept === "mae" ? 1 : 100;
    const qualities = new Map((await published(kept)).map(([method, x]) => [method, x * unitOf]));
    const erm = qualities.get(about.methods.find(({ name }) => name === "erm")?.title);
    const loss = kept === "mae" ? 100 * (mine[0] / erm - 1) : erm - mine[0];
    const loses = loss > 5; // as † does; NaN without ERM
    const rows = (await published(key)).map(([method, x]) => [method, x * scale, false, qualities.get(method)]);
    if (!loses) rows.push(["Your predictions", estimate[0], true, mine[0]]);
    rows.sort(([, a], [, b]) => a - b);
    const place = rows.findIndex(([, , mine]) => mine);
    const [, low, high] = estimate;
    const others = rows.filter(([, , mine]) => !mine);
    const range = low === null ? "; so few retrainings give no interval, so it is uncertain" : ` (${1 + others.filter(([, x]) => x < low).length}–${1 + others.filter(([, x]) => x < high).length} within its interval)`;
    const beside = [place > 0 ? `after ${rows[place - 1][0]}` : "", place < rows.length - 1 ? `before ${rows[place + 1][0]}` : ""];
    $("#verdict").replaceChildren(
      make("p", {}, `${runs.length} retrainings, ${known.ids.length} examples of ${title}${unit ? ` (${unit})` : ""}. ${loses ? `No place: ${kept === "mae" ? `the MAE is ${number(loss, 1)} % above` : `accuracy is ${number(loss, 1)} pp below`} ERM's, ${number(erm, together(kept === "mae" ? 3 : 1, erm))}, and a place is for methods that lose at most 5 (†), since a model that always answers the same never churns.` : `By ${name.replace(/ \(.*/, "").toLowerCase()}, place ${place + 1} of ${rows.length}${range}${beside.some(Boolean) ? `, ${beside.filter(Boolean).join(" and ")}` : ""}.`}`),
      make("ul", {}, ...found.map(([, what, value, n]) => make("li", {}, `${what}: ${number(value[0], together(n, ...value))} ${interval(value, together(n, ...value))}`))));
    $("#places").replaceChildren(head("#", name, what, "Method"), make("tbody", {}, ...rows.map(([method, x, mine, quality], i) =>
      make("tr", { class: mine ? "chosen" : "" }, make("td", {}, String(i + 1)), make("td", {}, number(x, digits)), make("td", {}, quality === undefined ? "–" : number(quality, together(kept === "mae" ? 3 : 1, quality))), make("th", { scope: "row", class: "left" }, method)))));
    const outputs = task === "regression" ? runs : runs.map(classesOf);
    const churn = known.ids.map((_, t) => ofPairs(outputs.map((run) => [run[t]]), halves, distance)[0]);
    const worst = [...known.ids.keys()].sort((a, b) => churn[b] - churn[a]).filter((t) => churn[t] > 0).slice(0, 20);
    const shown = (x) => (task === "regression" ? number(x, 3) : `${number(100 * x, 0)} %`);
    $("#fragile").replaceChildren(head("Pairs that differ", "Example", task === "regression" ? "True value" : "True class"), make("tbody", {}, ...worst.map((t) =>
      make("tr", {}, make("td", {}, shown(churn[t])), make("th", { scope: "row", class: "left" }, known.smiles[t] ?? known.ids[t]), make("td", {}, String(known.y[t]))))));
    $("#places").hidden = false;
    for (const table of ["fragile", "fragile-title"]) $(`#${table}`).hidden = !worst.length;
  }

  async function read() {
    if (!input.files.length) return;
    try { await show(await input.files[0].text()); } catch (error) { say(error.message); }
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  on.addEventListener("change", () => { splits(); read(); });
  split.addEventListener("change", read);
  input.addEventListener("change", read);
  $("#ids").addEventListener("click", async () => {
    download(`${dataset().name}-${split.value}.csv`, ["example_id", ...(await test()).ids, ""].join("\n"), "text/csv");
  });
  splits();
  form.hidden = false;
}

document.addEventListener("DOMContentLoaded", () => yoursPage().catch((error) => { $("#verdict").textContent = error.message; }));
