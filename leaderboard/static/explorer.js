// The flip explorer: the examples that fit the filters. molecule.js has the view of one example.
"use strict";

/** Draw one cell per retraining: dark is class 1 or above. */
function classStrip(classes) {
  const runs = [...classes];
  const cells = (wanted) => runs.map((c, i) => ((c !== "0") === wanted ? `M${i + 0.06} 0h.88v1h-.88z` : "")).join("");
  const counts = [...new Set(runs)].sort().map((c) => `class ${c} in ${runs.filter((x) => x === c).length}`);
  const label = `${counts.join(", ")} of ${runs.length} retrainings`;
  return make("svg", { viewBox: `0 0 ${runs.length} 1`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    make("path", { class: "zero", d: cells(false) }), make("path", { class: "one", d: cells(true) }));
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

/** Save `rows` of texts and numbers as a file for spreadsheets. */
function save(name, rows) {
  const quoted = (x) => (/[",\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : String(x ?? ""));
  const text = rows.map((row) => row.map(quoted).join(",")).join("\n");
  const link = make("a", { href: URL.createObjectURL(new Blob([`${text}\n`], { type: "text/csv" })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
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
    const text = (i) => `${flips.ids[i]} ${flips.smiles[i] ?? ""}`;
    const fits = flips.ids.map((_, i) => i).filter((i) =>
      rates[i] >= least && (state.label === "" || String(flips.y[i]) === state.label) && text(i).includes(needle));
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
    const flips = await file(about.folder, state.shard);
    const i = flips.ids.indexOf(state.molecule);
    const one = state.molecule !== "" && i >= 0;
    const order = one ? [i] : chosen(state, flips);
    const visible = order.slice(0, shown);
    const shards = [...new Set(visible.map((i) => flips.drawings[i]).filter((n) => n !== null))];
    const drawings = Object.assign({}, ...await Promise.all(shards.map((n) => file(about.structures, `${about.base}-${n}`))));
    const about_one = one ? await file(about.folder, `near-${state.shard}`) : null;
    if (turn !== drawn) return; // superseded by a later request
    const methods = flips.methods.map((m, k) => [m, k]).filter(([m]) => state.show.split(" ").includes(m.slug));
    current = { state, flips, order, methods };
    form.hidden = one;
    for (const part of $$(".overview")) part.hidden = one;
    if (one) list.replaceChildren(oneMolecule(about, flips, i, about_one, head(flips, i, drawings, false)));
    else list.replaceChildren(...visible.map((i) => molecule(flips, i, methods, drawings)));
    if (one) scrollTo(0, 0);
    $("#count").textContent = `${order.length.toLocaleString("en")} of ${flips.ids.length.toLocaleString("en")} examples`;
    $("#more").hidden = one || visible.length >= order.length;
  }

  /** The drawing of an example, its name and its label. */
  function head(flips, i, drawings, linked) {
    const structure = make("div", { class: "structure" });
    if (drawings[flips.ids[i]]) structure.innerHTML = drawings[flips.ids[i]]; // trusted: drawn when the site was built
    const label = classes ? `true class ${flips.y[i]}` : `measured ${number(flips.y[i], 2)} ${about.unit}`;
    const words = [label];
    if (flips.smiles[i]) words.push(" · ", make("code", {}, flips.smiles[i]));
    const name = linked ? make("a", { href: viewOf(flips.ids[i]) }, flips.ids[i]) : flips.ids[i];
    return [structure, make("h2", {}, name), make("p", { class: "soft small" }, ...words)];
  }

  function molecule(flips, i, methods, drawings) {
    const all = methods.flatMap(([, k]) => flips.strips[k][i]);
    const centre = classes ? 0 : (Math.min(...all) + Math.max(...all)) / 2;
    const rows = methods.map(([method, k]) => {
      const strip = classes ? classStrip(flips.strips[k][i]) : valueStrip(flips.strips[k][i], flips.y[i], centre, flips.span);
      const rate = classes ? `${number(flips.rates[k][i], 0)} %` : number(flips.rates[k][i], 2);
      return make("tr", {}, make("th", { scope: "row" }, method.title), make("td", { class: "strip" }, strip), make("td", {}, rate));
    });
    const table = make("table", { class: "strips", "aria-label": `Retrainings of each method on ${flips.ids[i]}` }, make("tbody", {}, ...rows));
    const [structure, ...words] = head(flips, i, drawings, true);
    return make("article", { class: "molecule" }, structure, make("div", {}, ...words, table));
  }

  /** Save the examples that fit the filters: what the page says of each, under the methods shown. */
  function csv() {
    const { state, flips, order, methods } = current;
    const rate = classes ? "flips (% of pairs)" : "churn";
    const header = ["example_id", "smiles", "y_true",
      ...methods.flatMap(([m]) => [`${m.title}: ${rate}`, `${m.title}: predictions`])];
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
