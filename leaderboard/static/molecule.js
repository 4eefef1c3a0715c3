// The view of one example: what the methods say of it, the rows that its flips depend on, and its nearest training rows.
"use strict";

const INKS = Object.fromEntries(["C", "H", "FOREGROUND"].map((name) => [name, "currentColor"]));
/** Colours of elements with a contrast of at least 3 on light and dark pages. */
const ELEMENTS = { ...INKS, BACKGROUND: "transparent", N: "#4a78e0", O: "#e0423a", F: "#249a4a", CL: "#249a4a", BR: "#b5622e", I: "#9a5fd0", P: "#d26c12", S: "#a88405", B: "#b0743a", SI: "currentColor" };

const undrawn = new WeakMap(); // what draws each structure that has not come into view
const inView = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    inView.unobserve(target);
    undrawn.get(target)();
    undrawn.delete(target);
  }
}, { rootMargin: "50%" });

/** Return a structure, drawn when it comes into view; nothing without SMILES, and for what is no molecule. */
function depicted(smiles, width, height) {
  if (!smiles) return [];
  const svg = make("svg", { width, height, "aria-hidden": "true" });
  let parsed = null;
  try {
    SmilesDrawer.parse(smiles, (tree) => { parsed = tree; }, (error) => { throw error; });
  } catch { return []; }
  undrawn.set(svg, () => {
    try {
      const drawer = new SmilesDrawer.SvgDrawer({ width, height, themes: { page: ELEMENTS }, compactDrawing: false });
      drawer.draw(parsed, svg, "page");
    } catch { svg.remove(); return; }
    const { x, y, width: w, height: h } = svg.getBBox(); // the drawing leaves a square: cut it to the molecule, and enlarge no small one
    const [wide, high] = [Math.max(w + 12, 1.3 * width), Math.max(h + 12, 1.3 * height)];
    if (w) svg.setAttribute("viewBox", `${x + w / 2 - wide / 2} ${y + h / 2 - high / 2} ${wide} ${high}`);
  });
  inView.observe(svg);
  return [svg];
}

/** Return the name of a class: what class 1 does, or that class 0 does not. */
const className = (about, c) => (about.classes !== 2 || !about.target ? `class ${c}` : String(c) === "1" ? about.target : `not: ${about.target}`);

/** The methods by what all their retrainings say, in ten rows; the reference stands first in its group. */
function inTenRows(about, flips, i, lines) {
  const all = flips.methods.map((method, k) => [method, k]);
  const calm = ([, a], [, b]) => (a && b ? flips.rates[a][i] - flips.rates[b][i] : a - b);
  const titles = { right: "Always right", wrong: "Stable but wrong", changes: "Changes with the sample" };
  if (about.task !== "classification") return [make("table", { class: "strips" }, make("tbody", {}, ...lines(flips, i, all.sort(calm).slice(0, 10))))];
  const groups = Object.entries(titles).map(([key, title]) => [key, title, all.filter(([, k]) => verdict(flips, k, i) === key).sort(calm)]).filter(([, , of]) => of.length);
  const each = Math.floor((10 - groups.length) / groups.length);
  const rows = groups.flatMap(([key, title, of]) => [
    make("tr", { class: `group ${key}` }, make("th", { scope: "colgroup", colspan: "3" }, `${title}: ${of.length} of ${all.length} methods${of.length > each ? ", such as" : ""}`)),
    ...lines(flips, i, of.slice(0, each))]);
  return [make("table", { class: "strips grouped", "aria-label": `The methods on ${flips.ids[i]}` }, make("tbody", {}, ...rows))];
}

/** Return what the build has packed into the k-th character of `text`, in steps of 2 %. */
const unpacked = (text, k) => number((text.charCodeAt(k) - 40) / 50, 2);

/** All retrainings of all methods: a column for each train seed. */
function retrainings(about, flips, i, more) {
  const classes = about.task === "classification";
  const seeds = [...new Set(flips.methods.flatMap((m) => m.seeds))].sort((a, b) => a - b);
  const rows = flips.methods.map((method, k) => {
    const said = [...flips.strips[k][i]];
    const cells = seeds.map((seed) => {
      const run = method.seeds.indexOf(seed);
      if (run < 0) return make("td", {}, "");
      if (!classes) return make("td", {}, number(said[run], 2));
      return make("td", { class: said[run] === "0" ? "said" : "said one", title: `${className(about, said[run])}; train seed ${seed}` }, said[run]);
    });
    const rate = classes ? `${number(flips.rates[k][i], 0)} %` : number(flips.rates[k][i], 2);
    const link = make("a", { href: `../methods/${method.slug}.html` }, method.title);
    const sure = classes ? [more.means, more.deviations].map((packed) => make("td", {}, unpacked(packed[i], k))) : [];
    return make("tr", {}, make("th", { scope: "row" }, link), make("td", {}, rate), ...sure, ...cells);
  });
  const top = ["Method", ...(classes ? ["Flips", "Mean p", "SD"] : ["Churn"]), ...seeds].map((text) => make("th", { scope: "col" }, String(text)));
  return scrolling("Every retraining", make("table", { class: "runs" }, make("thead", {}, make("tr", {}, ...top)), make("tbody", {}, ...rows)));
}

const scrolling = (label, table) => make("div", { class: "scroll plain", tabindex: "0", role: "region", "aria-label": label }, table);

/** A table of training rows; `columns` are pairs of a title and what it says of a row. */
function rowTable(rows, listed, label, columns) {
  const top = ["Training row", ...columns.map(([title]) => title)].map((text) => make("th", { scope: "col" }, text));
  const body = listed.map((one) => {
    const [id, smiles, y] = rows[one.row];
    return make("tr", {}, make("th", { scope: "row", class: "training" }, ...depicted(smiles, 160, 100), make("code", {}, smiles ?? id)), ...columns.map(([, say]) => make("td", {}, say(one, y))));
  });
  return scrolling(label, make("table", {}, make("thead", {}, make("tr", {}, ...top)), make("tbody", {}, ...body)));
}

const labelled = (about) => [about.task === "classification" ? "True class" : "Measured", (_, y) => (y === undefined ? "–" : String(y))];
const SIMILAR = ["Similarity", (one) => (one.similarity === null ? "–" : number(one.similarity, 2))];

/** What a study found out: the rows that are named for this example. */
function influentialRows(about, rows, study, i) {
  const how = `${study.method} was trained on the halves of ${study.halvings} random halvings of the training set: half of the halvings named rows, and the other half tested them.`;
  const named = study.of[i];
  if (!named) return [make("p", {}, `${how} This example flips in too few of these models to name any row.`)];
  if (!named.length) return [make("p", {}, `${how} It flips, but no training row changes its probability by at least five points with a posterior probability of 95 %.`)];
  const points = (x) => number(100 * x, 0, true);
  const share = (x) => `${number(100 * x, 0)} %`;
  return [make("p", {}, `${how} Effect: by how many percentage points having the row in training changes the probability of class 1. Effect, shares and p come from the models that took no part in naming the row.`),
    rowTable(rows, named, "Training rows that the flips depend on", [labelled(about), SIMILAR,
      ["Effect", (one) => `${points(one.effect)} [${points(one.low)}, ${points(one.high)}]`],
      ["Class 1 with it", (one) => share(one.with)], ["without it", (one) => share(one.without)],
      ["p (one-sided)", (one) => (one.p < 0.001 ? "< 0.001" : number(one.p, 3))],
      ["At 5 %", (one) => (one.p <= 0.05 ? "confirmed" : "not confirmed")]])];
}

/** The nearest training rows as cards. */
function cards(about, rows, near) {
  return make("ul", { class: "cards", "aria-label": "Nearest training rows" }, ...near.map(([row, similarity]) => {
    const [id, smiles, y] = rows[row];
    const label = y === undefined ? "" : about.task === "classification" ? className(about, y) : `measured ${y}`;
    return make("li", {}, ...depicted(smiles, 160, 110), make("span", { class: "similarity" }, `similarity ${number(similarity, 2)}`), make("span", {}, label), make("code", {}, smiles ?? id));
  }));
}

function oneMolecule(about, flips, i, more, [structure, ...words], lines) {
  const asked = more.influential.flatMap((study) => influentialRows(about, more.rows, study, i));
  const why = about.task === "classification"
    ? [`The ${about.most} recorded retrainings of a method are too few to tell which of ${about.train} training rows a flip depends on: `, make("code", {}, about.command), " trains enough of them; rebuild the site, and this page names the rows."]
    : ["Rows are named only for classifications: a regression has no flips."];
  const near = more.near[i] ?? [];
  return make("article", {},
    make("p", {}, make("a", { href: viewOf("") }, "← All examples")),
    make("div", { class: "molecule" }, structure, make("div", {}, ...words, ...inTenRows(about, flips, i, lines))),
    make("h3", {}, "Nearest training rows"),
    near.length ? cards(about, more.rows, near) : make("p", { class: "note" }, "This page was built without the structures of the training rows."),
    make("details", {}, make("summary", {}, `Every retraining of all ${flips.methods.length} methods`),
      make("p", { class: "soft small" }, about.task === "classification"
        ? "Mean and standard deviation of the probability of class 1, in steps of 0.02, and a column for each train seed with the class." : `A column for each train seed, in steps of ${Number(flips.steps[i].toPrecision(2))} ${about.unit}.`),
      retrainings(about, flips, i, more)),
    make("h3", {}, "Training rows that its flips depend on"), ...(asked.length ? asked : [make("p", { class: "note" }, ...why)]));
}
