// The plot of the leaderboard and of a dataset: the rows of a table by accuracy and churn. The first click on it loads it.
"use strict";

const SHAPES = {
  "●": ["circle"], "■": ["rect"], "◆": ["rectRot"], "⬟": ["rectRounded"], "✚": ["cross"], "✖": ["crossRot"], "★": ["star"],
  "▲": ["triangle"], "▶": ["triangle", 90], "▼": ["triangle", 180], "◀": ["triangle", 270],
};
const LINES = { cross: 4, crossRot: 4, star: 2 }; // widths of the shapes that are lines

/** Read a row of the table as a point; null without both numbers. ERM's difference from itself is 0. */
function pointOf(row, table, keys) {
  const cell = (key) => row.cells[keys.indexOf(key)];
  const [x, y] = [table.dataset.x, table.dataset.y].map((key) => ({ key, text: cell(key).dataset.value, words: cell(key).innerText || cell(key).textContent }));
  if (!x.text && row.matches(".reference")) [x.text, x.words] = ["0", "0"];
  if (!x.text || !y.text) return null;
  const ends = ({ words }) => (/\[(\S+), (\S+)\]/.exec(words.replaceAll("−", "-")) ?? []).slice(1).map(Number);
  const [look, link] = [$(".look", row), $("a", row)];
  const title = row.cells[0].dataset.title ?? link.textContent;
  const features = cell("features")?.textContent.trim();
  return {
    row, title, x: Number(x.text), y: Number(y.text), ends: { x: ends(x), y: ends(y) },
    name: title.split(" · ").filter((part) => part !== features).join(" · "),
    slug: link.getAttribute("href").split("/").pop().replace(/\.html$/, ""),
    href: link.getAttribute("href"),
    words: [title.includes(features) ? "" : features, cell("place")?.dataset.value && `place ${cell("place").dataset.value}`, `${axis(table, y.key)}: ${numbers(y.words)}`, `${axis(table, x.key)}: ${numbers(x.words)}`].filter(Boolean),
    colour: getComputedStyle(look).color, shape: SHAPES[look.textContent.trim()] ?? ["circle"],
    reference: row.matches(".reference") || title === row.closest("div.sections")?.querySelector("#plotted").dataset.reference,
    hollow: row.matches(".lost, .unranked") || (!row.cells[0].dataset.title && Boolean(link.nextSibling?.textContent.trim())), // marks
  };
}

const numbers = (text) => text.trim().replace(/\s+/g, " ");
const axis = (table, key) => $(`th[data-key="${key}"]`, table).textContent.trim();

/** The points that no other filled one equals or beats in both numbers, by x. */
function frontOf(points, up) {
  const best = [];
  for (const p of points.filter((one) => !one.hollow).sort((a, b) => (up ? b.x - a.x : a.x - b.x) || a.y - b.y)) {
    if (!best.length || p.y < best[best.length - 1].y) best.push(p);
  }
  return best;
}

const MANY = 25;

/** Name the front, chosen points and the reference, and others up to MANY, where there is room; draw the intervals of chosen ones. */
const names = ({ points, front, picked, ink }) => ({
  id: "names",
  afterDatasetsDraw(drawn) {
    const { ctx, chartArea: area, scales: { x, y } } = drawn;
    const active = drawn.getActiveElements().map(({ index }) => points[index]);
    const chosen = [...new Set([...active, ...points.filter((p) => picked.includes(p.slug))])];
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    for (const p of chosen) {
      ctx.strokeStyle = p.colour;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      const [at, to] = [x.getPixelForValue(p.x), y.getPixelForValue(p.y)];
      if (p.ends.x.length) { ctx.moveTo(x.getPixelForValue(p.ends.x[0]), to); ctx.lineTo(x.getPixelForValue(p.ends.x[1]), to); }
      if (p.ends.y.length) { ctx.moveTo(at, y.getPixelForValue(p.ends.y[0])); ctx.lineTo(at, y.getPixelForValue(p.ends.y[1])); }
      ctx.stroke();
    }
    ctx.font = `${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
    ctx.fillStyle = ink;
    ctx.textBaseline = "middle";
    const taken = [];
    for (const p of [...new Set([...chosen, ...front, ...points.filter((p) => p.reference), ...(points.length <= MANY ? points : [])])]) {
      const width = ctx.measureText(p.name).width;
      const [at, to] = [x.getPixelForValue(p.x), y.getPixelForValue(p.y)];
      const boxes = [...(chosen.includes(p) ? [[at + 9, to - 13]] : []), [at + 11, to], [at - 11 - width, to], [at - width / 2, to - 15], [at - width / 2, to + 15]];
      const free = boxes.find(([left, middle]) => left >= area.left && left + width <= area.right && middle > area.top + 6 && middle < area.bottom - 6
        && taken.every(([l, m, w]) => Math.abs(m - middle) > Chart.defaults.font.size || l > left + width || l + w < left)
        && (chosen.includes(p) || points.every((q) => q === p || !near(x.getPixelForValue(q.x), y.getPixelForValue(q.y), left, middle, width))));
      if (!free) continue;
      taken.push([...free, width]);
      ctx.fillText(p.name, ...free);
    }
    ctx.restore();
  },
});

const near = (at, to, left, middle, width) => at > left - 9 && at < left + width + 9 && Math.abs(to - middle) < 10;

let chart = null;
let last = ""; // which points it has
let current = ""; // slug of the point that the keyboard is at

/** Show the visible `rows` of a table; `pick(slugs)` is called with the slugs of the points to keep. */
function draw(table, rows, picked, pick) {
  const place = $("#plot");
  const canvas = $("canvas", place);
  const keys = headers(table).map((th) => th.dataset.key);
  const points = rows.map((row) => pointOf(row, table, keys)).filter(Boolean);
  const up = $(`th[data-key="${table.dataset.x}"]`, table).dataset.better === "up";
  const { x, y, unit } = table.dataset;
  const [xTitle, yTitle] = [`${axis(table, x)}${unit ? ` (${unit})` : ""}`, axis(table, y)];
  const { color: ink, borderTopColor: line, outlineColor: soft, backgroundColor: back } = getComputedStyle(canvas);
  const front = frontOf(points, up);
  const shown = points.map((p) => p.slug).join(" ") + table.closest("section")?.dataset.set;
  const kept = last === shown && chart.isZoomedOrPanned() ? chart.getZoomedScaleBounds() : null;
  chart?.destroy();
  Chart.defaults.font = { ...Chart.defaults.font, size: 13, family: getComputedStyle(document.body).fontFamily };
  const title = (text) => ({ display: true, text, color: ink });
  const ticks = { color: soft, maxTicksLimit: 8, callback: (value) => String(Math.round(value * 1e6) / 1e6).replace("-", "−") };
  chart = new Chart(canvas, {
    type: "scatter",
    data: {
      datasets: [{
        data: points, pointStyle: points.map((p) => p.shape[0]), rotation: points.map((p) => p.shape[1] ?? 0),
        pointBorderColor: points.map((p) => p.colour), pointBackgroundColor: points.map((p) => (p.hollow ? back : p.colour)),
        pointBorderWidth: points.map((p) => (p.hollow ? 1.2 : LINES[p.shape[0]] ?? 1.5)),
        pointRadius: points.map((p) => (picked.includes(p.slug) ? 9 : 6)), pointHoverRadius: 9, pointHitRadius: 8,
        pointHoverBackgroundColor: points.map((p) => (p.hollow ? back : p.colour)), pointHoverBorderColor: points.map((p) => p.colour),
      }, { type: "line", data: front.map(({ x, y }) => ({ x, y })), borderColor: soft, borderWidth: 1, borderDash: [4, 3], stepped: true, pointRadius: 0, pointHitRadius: 0 }],
    },
    options: {
      animation: false, maintainAspectRatio: false, layout: { padding: { top: 6, right: 12 } },
      interaction: { mode: "nearest", intersect: true },
      scales: {
        x: { title: title(up ? `${xTitle}   better →` : `← better   ${xTitle}`), ticks, grid: { color: line }, grace: "6%" },
        y: { title: title(`← better   ${yTitle}`), ticks, grid: { color: line }, grace: "6%" },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false, filter: ({ datasetIndex }) => datasetIndex === 0,
          callbacks: { title: ([item]) => item && points[item.dataIndex].title.split(" · "), label: ({ dataIndex }) => points[dataIndex].words },
        },
        zoom: { zoom: { wheel: { enabled: true, modifierKey: "ctrl" }, drag: { enabled: true, threshold: 8, backgroundColor: "rgb(125 140 160 / .25)" }, mode: "xy" } },
      },
      onClick: (_, [element]) => { if (element?.datasetIndex === 0) toggle(points[element.index]); },
      onHover: ({ native }, [element]) => { native.target.style.cursor = element?.datasetIndex === 0 ? "pointer" : "crosshair"; },
    },
    plugins: [names({ points, front, picked, ink })],
  });
  last = shown;
  if (kept) for (const [id, { min, max }] of Object.entries(kept)) chart.zoomScale(id, { min, max });
  chart.update("none");

  const describe = (p) => `${p.title}: ${p.words.join("; ")}`;
  const toggle = (p) => pick(picked.includes(p.slug) ? picked.filter((slug) => slug !== p.slug) : [...picked, p.slug].slice(-2));
  const hidden = rows.length - points.length;
  canvas.setAttribute("aria-label", `${points.length} of the table's rows by ${xTitle} and ${yTitle}. Arrow keys go from one to the next, Enter keeps one.`);
  $("#plot-note").textContent = `${keys.includes("features") ? "" : "Colours and shapes are those of the table. "}${front.length > 1 ? "Line: no other row is better in both. " : ""}Hollow: no place, for a loss of accuracy or another reason.${hidden ? ` ${hidden} without both numbers ${hidden > 1 ? "are" : "is"} left out.` : ""}`;

  const kind = (key, look) => {
    const seen = new Map();
    for (const p of points) if (keys.includes(key)) seen.set(p.row.cells[keys.indexOf(key)].textContent.trim(), look(p));
    return [...seen].sort(([a], [b]) => a.localeCompare(b));
  };
  const item = (sign, colour) => ([text]) => {
    const mark = make("i", { class: "look", "aria-hidden": "true" }, sign(text));
    mark.style.color = colour(text);
    return make("li", {}, mark, text);
  };
  const learners = new Map(points.map((p) => [p.row.cells[0].dataset.learner, p.colour]));
  const shapes = new Map(kind("features", (p) => $(".look", p.row).textContent.trim()));
  $("#plot-legend").replaceChildren(...(keys.includes("features") ? [
    make("ul", { "aria-label": "Colours: learners" }, ...[...learners].sort(([a], [b]) => a.localeCompare(b)).map(item(() => "●", (text) => learners.get(text)))),
    make("ul", { "aria-label": "Shapes: features" }, ...[...shapes].map(item((text) => shapes.get(text), () => soft))),
  ] : []));

  const keeping = points.filter((p) => picked.includes(p.slug));
  $("#picked").replaceChildren(...keeping.map((p) => {
    const remove = make("button", { type: "button", class: "button", "aria-label": `Remove ${p.title}` }, "✕");
    remove.addEventListener("click", () => toggle(p));
    return make("li", {}, make("a", { href: p.href }, p.title), ` ${p.words.join("; ")} `, remove);
  }), ...(keeping.length === 2 ? [make("li", {}, make("a", { href: `${keeping[0].href.replace(/methods\/[^/]*$/, "compare.html")}#${new URLSearchParams({ a: keeping[0].title, b: keeping[1].title })}` }, "Compare these two"))] : []));

  const go = (p) => {
    const at = points.indexOf(p);
    current = p.slug;
    if (!["x", "y"].every((id) => p[id] >= chart.scales[id].min && p[id] <= chart.scales[id].max)) chart.resetZoom("none");
    const { x, y } = chart.getDatasetMeta(0).data[at].getProps(["x", "y"], true);
    chart.setActiveElements([{ datasetIndex: 0, index: at }]);
    chart.tooltip.setActiveElements([{ datasetIndex: 0, index: at }], { x, y });
    chart.update("none");
    $("#plot-status").textContent = describe(p);
  };
  const actions = { in: () => chart.zoom(1.5), out: () => chart.zoom(1 / 1.5), reset: () => chart.resetZoom() };
  canvas.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !points.length) return;
    const by = { ArrowRight: ["x", 1], ArrowLeft: ["x", -1], ArrowUp: ["y", 1], ArrowDown: ["y", -1] }[event.key];
    const zoom = { "+": "in", "-": "out", 0: "reset" }[event.key];
    const at = points.find((p) => p.slug === current);
    if (by) {
      const order = [...points].sort((a, b) => a[by[0]] - b[by[0]] || a.title.localeCompare(b.title));
      const start = by[1] > 0 ? 0 : order.length - 1;
      go(order[at ? Math.min(Math.max(order.indexOf(at) + by[1], 0), order.length - 1) : start]);
    } else if ((event.key === "Enter" || event.key === " ") && at) toggle(at);
    else if (zoom) actions[zoom]();
    else return;
    event.preventDefault();
  };
  for (const button of $$("button[data-zoom]", place)) button.onclick = actions[button.dataset.zoom];
  const again = points.find((p) => p.slug === current);
  if (again && document.activeElement === canvas) go(again);
}
