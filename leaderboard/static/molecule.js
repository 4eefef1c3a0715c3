// The view of one example: every retraining, the rows that its flips depend on, and its nearest training rows.
"use strict";

/** Return probabilities that the build has packed into characters, in steps of 2 %. */
const unpacked = (text) => [...text].map((c) => (c.charCodeAt(0) - 40) / 50);

/** All retrainings of all methods: a column for each train seed. */
function retrainings(about, flips, i, more) {
  const classes = about.task === "classification";
  const seeds = [...new Set(flips.methods.flatMap((m) => m.seeds))].sort((a, b) => a - b);
  const rows = flips.methods.map((method, k) => {
    const said = [...flips.strips[k][i]];
    const values = more.values ? unpacked(more.values[k][i]) : null;
    const cells = seeds.map((seed) => {
      const run = method.seeds.indexOf(seed);
      if (run < 0) return make("td", {}, "");
      if (!classes) return make("td", {}, number(said[run], 2));
      const text = values ? number(values[run], 2) : said[run];
      return make("td", { class: said[run] === "0" ? "said" : "said one", title: `class ${said[run]}, train seed ${seed}` }, text);
    });
    const rate = classes ? `${number(flips.rates[k][i], 0)} %` : number(flips.rates[k][i], 2);
    const link = make("a", { href: `../methods/${method.slug}.html` }, method.title);
    return make("tr", {}, make("th", { scope: "row" }, link), make("td", {}, rate), ...cells);
  });
  const top = ["Method", classes ? "Flips" : "Churn", ...seeds].map((text) => make("th", { scope: "col" }, String(text)));
  return scrolling("Every retraining", make("table", { class: "runs" }, make("thead", {}, make("tr", {}, ...top)), make("tbody", {}, ...rows)));
}

const scrolling = (label, table) => make("div", { class: "scroll plain", tabindex: "0", role: "region", "aria-label": label }, table);

/** A table of training rows; `columns` are pairs of a title and what it says of a row. */
function rowTable(rows, listed, label, columns) {
  const top = ["Training row", ...columns.map(([title]) => title)].map((text) => make("th", { scope: "col" }, text));
  const body = listed.map((one) => {
    const [id, smiles, y] = rows[one.row];
    return make("tr", {}, make("th", { scope: "row", class: "training" }, make("code", {}, smiles ?? id)), ...columns.map(([, say]) => make("td", {}, say(one, y))));
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

function oneMolecule(about, flips, i, more, [structure, ...words]) {
  const asked = more.influential.flatMap((study) => influentialRows(about, more.rows, study, i));
  const why = about.task === "classification"
    ? [`The ${about.most} recorded retrainings of a method are too few to tell which of ${about.train} training rows a flip depends on: `, make("code", {}, about.command), " trains enough of them; rebuild the site, and this page names the rows."]
    : ["Rows are named only for classifications: a regression has no flips."];
  const near = (more.near[i] ?? []).map(([row, similarity]) => ({ row, similarity }));
  return make("article", {},
    make("p", {}, make("a", { href: viewOf("") }, "← All examples")),
    make("div", { class: "molecule" }, structure, make("div", {}, ...words)),
    make("h3", {}, "Every retraining"),
    make("p", { class: "soft small" }, about.task === "classification"
      ? "A column for each train seed: the probability of class 1, in steps of 0.02; a bar below marks class 1." : "A column for each train seed."),
    retrainings(about, flips, i, more),
    make("h3", {}, "Training rows that its flips depend on"), ...(asked.length ? asked : [make("p", { class: "note" }, ...why)]),
    make("h3", {}, "Nearest training rows"),
    near.length ? rowTable(more.rows, near, "Nearest training rows", [labelled(about), SIMILAR])
      : make("p", { class: "note" }, "This page was built without the structures of the training rows."));
}
