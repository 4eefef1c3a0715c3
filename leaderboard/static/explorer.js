// The flip explorer: the examples that fit the filters. molecule.js has the view of one example.
"use strict";

/** Draw one cell per retraining. Under halves, the two retrainings that are compared stand one above the other. */
function classStrip(classes, seeds, halved, named) {
  const runs = [...classes];
  const pairs = [...new Set(seeds.map((seed) => Math.ceil(seed / 2)))];
  const at = (i) => (halved ? [pairs.indexOf(Math.ceil(seeds[i] / 2)), (seeds[i] + 1) % 2] : [i, 0]);
  const cell = (i) => `M${at(i)[0] + 0.06} ${at(i)[1] * 1.04}h.88v1h-.88z`;
  const cells = (wanted) => runs.map((c, i) => ((c !== "0") === wanted ? cell(i) : "")).join("");
  const counts = [...new Set(runs)].sort().map((c) => `class ${c} in ${runs.filter((x) => x === c).length}`);
  const differ = pairs.filter((h) => new Set(runs.filter((_, i) => Math.ceil(seeds[i] / 2) === h)).size > 1).length;
  const label = `${counts.join(", ")} of ${runs.length} retrainings${halved ? `; ${differ} of ${runs.length - pairs.length} pairs differ` : ""}`;
  return make("svg", { viewBox: `0 0 ${halved ? pairs.length : runs.length} ${halved ? 2.04 : 1}`, preserveAspectRatio: "none", role: "img", "aria-label": label, class: halved ? "pairs" : "" },
    make("path", { class: "zero", d: cells(false) }), make("path", { class: "one", d: cells(true) }));
}

/** Return what all retrainings of method `k` say of example `i` together: "right", "wrong" or "changes". */
function verdict(flips, k, i) {
  const said = new Set(flips.strips[k][i]);
  return said.size > 1 ? "changes" : said.has(String(Math.min(flips.y[i], 9))) ? "right" : "wrong";
}

/** Draw one dot per retraining, on a scale of `span` around `centre`; the line is the measured value. */
function valueStrip(values, truth, centre, span) {
  const x = (v) => 4 + 92 * Math.min(1, Math.max(0, 0.5 + (v - centre) / span));
  const label = `${number(Math.min(...values), 2)} to ${number(Math.max(...values), 2)}, measured ${number(truth, 2)}`;
  return make("svg", { viewBox: "0 0 100 4", role: "img", "aria-label": label },
    make("line", { class: "truth", x1: x(truth), x2: x(truth), y1: 0, y2: 4 }),
    ...values.map((v) => make("circle", { class: "run", cx: x(v), cy: 2, r: 1 })));
}

/** Link to the view of one example, with the filters as they are. */
function viewOf(id) {
  const state = new URLSearchParams(location.hash.slice(1));
  if (id) state.set("molecule", id); else state.delete("molecule");
  return `#${state}`;
}

/** Replace the characters that stand for the predictions of an example: by numbers, or by a class for each retraining. */
function unpackedFlips(flips, halved) {
  if (typeof flips.strips[0] !== "string") return flips; // more than two classes, or unpacked before
  const packed = flips.strips;
  const bits = [...Array(32).keys()].map((n) => n.toString(2).padStart(5, "0"));
  const numbers = (text, i) => {
    const digits = Math.min(20, Math.max(0, Math.ceil(-Math.log10(flips.steps[i]))));
    return [...text].map((c) => Number((flips.low[i] + (c.charCodeAt(0) - 40) * flips.steps[i]).toFixed(digits)));
  };
  const classes = (text, n) => [...text].map((c) => bits[parseInt(c, 32)]).join("").slice(0, n);
  let end = 0;
  flips.strips = flips.methods.map(({ seeds: { length } }) => {
    const start = end;
    end += flips.steps ? length : Math.ceil(length / 5);
    return packed.map((text, i) => (flips.steps ? numbers(text.slice(start, end), i) : classes(text.slice(start, end), length)));
  });
  flips.rates ??= flips.methods.map(({ seeds }, k) => {
    const pairs = seeds.flatMap((a, i) => seeds.slice(0, i).map((b, j) => [i, j, Math.ceil(a / 2) === Math.ceil(b / 2)])).filter(([, , halves]) => halves || !halved);
    const rates = {}; // few strips differ
    return flips.strips[k].map((s) => rates[s] ??= Number((100 * pairs.filter(([i, j]) => s[i] !== s[j]).length / (pairs.length || 1)).toFixed(2)));
  });
  return flips;
}

/** Save `rows` of texts and numbers as a file for spreadsheets. */
function save(name, rows) {
  download(name, rows.map((row) => `${row.map(quoted).join(",")}\n`).join(""), "text/csv");
}

function explorer() {
  const about = data("about");
  const form = $("#filters");
  const list = $("#molecules");
  const page = 25;
  const classes = about.task === "classification";
  let shown = page;
  let current = null; // what is shown: state, examples in order, data
  let drawn = 0;

  /** Return the examples that fit the filters, in order. */
  function chosen(state, flips) {
    const under = Math.max(0, flips.methods.findIndex((m) => m.slug === state.under));
    const rates = flips.rates[under];
    const least = Number(state.least) || 0;
    const needle = state.q.trim();
    const named = (i) => flips.ids[i].toLowerCase().includes(needle.toLowerCase()) || (flips.smiles[i] ?? "").includes(needle);
    const fits = flips.ids.map((_, i) => i).filter((i) => rates[i] >= least && (state.label === "" || String(flips.y[i]) === state.label)
      && (!state.only || verdict(flips, under, i) === state.only) && named(i));
    const by = {
      flips: (i) => -rates[i], calm: (i) => rates[i], contrast: (i) => -Math.abs(flips.rates[0][i] - rates[i]),
      id: (i) => flips.ids[i], label: (i) => flips.y[i],
    }[state.sort];
    const sorted = fits.map((i) => [by(i), i]).sort(([a, i], [b, j]) => (a < b ? -1 : a > b ? 1 : i - j));
    return sorted.map(([, i]) => i);
  }

  async function show(state, more = false) {
    const turn = ++drawn;
    if (!more) shown = page;
    const flips = unpackedFlips(await file(about.folder, state.shard), about.halved);
    const i = flips.ids.indexOf(state.molecule);
    const one = state.molecule !== "" && i >= 0;
    const order = one ? [i] : chosen(state, flips);
    const visible = order.slice(0, shown);
    const about_one = one ? await file(about.folder, `near-${state.shard}`) : null;
    if (turn !== drawn) return; // superseded by a later request
    const methods = flips.methods.map((m, k) => [m, k]).filter(([m]) => state.show.split(" ").includes(m.slug) || m.slug === state.under)
      .sort(([a], [b]) => (b.slug === state.under) - (a.slug === state.under));
    current = { state, flips, order, methods };
    form.classList.toggle("off", one);
    for (const part of $$(".overview")) part.hidden = one;
    if (one) list.replaceChildren(oneMolecule(about, flips, i, about_one, head(flips, i, false), lines));
    else list.replaceChildren(...visible.map((i) => molecule(flips, i, methods)));
    if (one) scrollTo(0, 0);
    $("#count").textContent = `${order.length.toLocaleString("en")} of ${flips.ids.length.toLocaleString("en")} examples`;
    $("#more").hidden = one || visible.length >= order.length;
  }

  /** The drawing of an example, its name and its label. */
  function head(flips, i, linked) {
    const structure = make("div", { class: "structure" }, ...depicted(flips.smiles[i], 220, 150));
    const words = [classes ? `True class: ${className(about, flips.y[i])}` : `Measured: ${number(flips.y[i], 2)} ${about.unit}`];
    if (flips.smiles[i]) words.push(" · ", make("code", {}, flips.smiles[i]));
    const name = linked ? make("a", { href: viewOf(flips.ids[i]) }, flips.ids[i]) : flips.ids[i];
    return [structure, make("h2", {}, name), make("p", { class: "soft small" }, ...words)];
  }

  /** One row for each of `methods`, which are pairs of a method and its position. */
  function lines(flips, i, methods) {
    const all = methods.flatMap(([, k]) => flips.strips[k][i]);
    const centre = classes ? 0 : (Math.min(...all) + Math.max(...all)) / 2;
    return methods.map(([method, k]) => {
      const strip = classes ? classStrip(flips.strips[k][i], method.seeds, about.halved) : valueStrip(flips.strips[k][i], flips.y[i], centre, flips.span);
      const rate = classes ? `${number(flips.rates[k][i], 0)} %` : number(flips.rates[k][i], 2);
      const wrong = classes && verdict(flips, k, i) === "wrong" ? [" ", make("span", { class: "mark" }, "stable but wrong")] : [];
      return make("tr", {}, make("th", { scope: "row" }, method.title), make("td", { class: "strip" }, strip), make("td", { class: "left" }, rate, ...wrong));
    });
  }

  function molecule(flips, i, methods) {
    const rows = lines(flips, i, methods);
    const table = make("table", { class: "strips", "aria-label": `Retrainings of each method on ${flips.ids[i]}` }, make("tbody", {}, ...rows));
    const [structure, ...words] = head(flips, i, true);
    return make("article", { class: "molecule" }, structure, make("div", {}, ...words, table));
  }

  /** Save the examples that fit the filters: what the page says of each, under the methods shown. */
  function csv() {
    const { state, flips, order, methods } = current;
    const rate = classes ? "flips (% of pairs)" : "churn";
    const header = ["example_id", "smiles", "y_true",
      ...methods.flatMap(([m]) => [`${m.title}: ${rate}`, `${m.title}: predictions${classes ? "" : ", rounded"}`])];
    const rows = order.map((i) => [flips.ids[i], flips.smiles[i], flips.y[i],
      ...methods.flatMap(([, k]) => [flips.rates[k][i], [...flips.strips[k][i]].join(" ")])]);
    save(`${about.folder.slice(0, -1)}-${state.shard}.csv`, [header, ...rows]);
  }

  const guarded = (state, more) => show(state, more).catch((error) => {
    $("#count").textContent = error.message;
    list.replaceChildren();
    $("#more").hidden = true;
  });
  form.hidden = false;
  bind(form, (state) => guarded(state, false));
  $("#more").addEventListener("click", () => { shown += page; guarded(current.state, true); });
  $("#csv").addEventListener("click", csv);
}

document.addEventListener("DOMContentLoaded", explorer);
