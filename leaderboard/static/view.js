// On all pages: a table as the reader has filtered and sorted it, as LaTeX, Markdown or CSV; and sections that open.
"use strict";

/** Return the text of a cell without icons, buttons' names and remarks in small print. */
function plain(cell) {
  const copy = cell.cloneNode(true);
  for (const extra of $$("[aria-hidden], small, svg, .range, .tag, [hidden]", copy)) extra.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** Return the title, head and rows of what is shown of a table: texts, the exact numbers, and what is numeric. */
function shownOf(table) {
  const cells = (row) => [...row.cells].filter((cell) => !cell.hidden);
  const top = table.tHead.rows.length > 1 ? [...table.tHead.rows[0].cells].flatMap((c) => Array(c.colSpan).fill(plain(c))) : [];
  const head = headers(table).map((th, i) => [th, [top[i], plain(th)].filter(Boolean).join(": ")]).filter(([th]) => !th.hidden);
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map(cells);
  const title = table.caption ? plain(table.caption) : table.closest(".scroll").getAttribute("aria-label") ?? "";
  return {
    title, head: head.map(([, text]) => text), rows: rows.map((row) => row.map(plain)),
    names: rows.map(([cell]) => cell.dataset.title ?? plain(cell)),
    remarks: rows.map(([cell]) => $$("small.remark", cell).map((remark) => remark.title).join("; ")),
    exact: rows.map((row) => row.map((cell) => (cell.tagName === "TD" ? cell.dataset.value : undefined))),
    numeric: head.map(([th], i) => i > 0 && !th.classList.contains("left")),
  };
}

const latex = (text) => [...text.replace(/(?<![\w.])-(?=\d)/g, "−")].map((c) => LATEX[c] ?? c).join("").replace(/(\d) (?=\\%)/g, "$1~");

/** Characters in a line of an article at 7 points, and from which a text is wrapped in its cell, as in the tables that the suite writes. */
const [LINE, TEXT] = [82, 24];

/** Write a view for the pages of an article: columns that do not fit on a line continue below, with the rows named again. */
function toLatex({ title, head, rows, names, remarks, numeric }) {
  const text = (row, i, n) => (n && i === 0 ? names[row] : rows[row][i]); // of a pipeline, what the first panel has in columns
  const longest = (i, n) => Math.max(10, ...rows.map((_, row) => text(row, i, n).length));
  const width = (i, n) => 2 + (numeric[i] ? longest(i, n) : Math.min(longest(i, n), TEXT));
  const kind = (i, n) => (numeric[i] ? "r" : longest(i, n) > TEXT ? `>{\\raggedright\\arraybackslash}p{${TEXT / 2}em}` : "l");
  const panels = [[0]];
  for (let i = 1; i < head.length; i++) {
    const last = panels[panels.length - 1];
    if (last.length > 1 && [...last, i].reduce((sum, c) => sum + width(c, panels.length - 1), 0) > LINE) panels.push([0]);
    panels[panels.length - 1].push(i);
  }
  const stacked = (title, i) => {
    const lines = [""];
    for (const word of title.split(" ")) {
      const longer = `${lines[lines.length - 1]} ${word}`.trim();
      if (longer.length > width(i) - 2 && lines[lines.length - 1]) lines.push(word); else lines[lines.length - 1] = longer;
    }
    return lines.length > 1 ? `\\shortstack[${numeric[i] ? "r" : "l"}]{${lines.map(latex).join(" \\\\ ")}}` : latex(title);
  };
  const first = (n) => (n && names.some((name, row) => name !== rows[row][0]) ? "Pipeline" : head[0]);
  const remarked = names.flatMap((name, row) => (remarks[row] ? [`${name}: ${remarks[row]}`] : []));
  const body = panels.flatMap((columns, n) => {
    const top = ["\\toprule", `${columns.map((i) => stacked(i ? head[i] : first(n), i)).join(" & ")} \\\\`, "\\midrule"];
    return [...(n ? ["\\addtocounter{table}{-1}"] : []),
      `\\begin{longtable}{@{}${columns.map((i) => kind(i, n)).join("")}@{}}`,
      ...(n ? [] : [`\\caption{${latex(title)}}\\\\`, ...top, "\\endfirsthead"]), ...top, "\\endhead",
      ...rows.map((_, row) => `${columns.map((i) => latex(text(row, i, n))).join(" & ")} \\\\`), "\\bottomrule", "\\end{longtable}"];
  });
  return ["% Needs \\usepackage{array,booktabs,longtable}.", `% From ${location.href}`, "\\begingroup", "\\fontsize{7}{8}\\selectfont",
    "\\setlength{\\tabcolsep}{4pt}", "\\setlength{\\LTcapwidth}{\\linewidth}", ...body, ...(remarked.length ? [`\\noindent ${latex(remarked.join(". "))}.`] : []), "\\par\\endgroup", ""].join("\n");
}

function toMarkdown({ head, rows, numeric }) {
  const line = (cells) => `| ${cells.map((text) => text.replace(/[|*]/g, "\\$&")).join(" | ")} |`;
  return [line(head), `| ${numeric.map((n) => (n ? "---:" : "---")).join(" | ")} |`, ...rows.map(line), ""].join("\n");
}

/** Write numbers with all digits that the page has; the ends of their intervals have columns of their own. */
function toCsv({ head, rows, remarks, exact, numeric }) {
  const ends = (text) => (text.match(/\[(.+), (.+)\]/) ?? []).slice(1).map((x) => x.replaceAll("−", "-").replace("+", ""));
  const intervals = head.map((_, i) => numeric[i] && rows.some((row) => ends(row[i]).length));
  const shown = (text) => text.replace(/ \[.*/, "").replaceAll("−", "-").replace(/^–$/, "");
  const value = (r, i) => (!numeric[i] ? rows[r][i] : exact[r][i] && !/\d–\d/.test(rows[r][i]) ? String(Number(Number(exact[r][i]).toPrecision(10))) : shown(rows[r][i]));
  const lines = [head.flatMap((name, i) => (intervals[i] ? [name, `${name} low`, `${name} high`] : [name])),
    ...rows.map((row, r) => row.flatMap((_, i) => (intervals[i] ? [value(r, i), ...Object.assign(["", ""], ends(row[i]))] : [value(r, i)])))];
  if (remarks.some(Boolean)) lines.forEach((line, r) => line.push(r ? remarks[r - 1] : "Remarks"));
  return `${lines.map((line) => line.map(quoted).join(",")).join("\n")}\n`;
}

/** Quote a cell of a CSV; a text that a spreadsheet would read as a formula begins with an apostrophe. */
function quoted(x) {
  const text = String(x ?? "");
  const safe = /^[=+\-@]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offer to copy what `table()` returns as it is shown at that moment. */
function copying(table) {
  const said = make("span", { role: "status" });
  const kinds = { LaTeX: toLatex, Markdown: toMarkdown, CSV: toCsv };
  const buttons = Object.entries(kinds).map(([name, write]) => {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", async () => {
      const area = make("textarea", { readonly: "", rows: "8", "aria-label": `This view as ${name}`, spellcheck: "false" });
      area.value = write(shownOf(table()));
      bar.nextElementSibling?.matches("textarea.copied") && bar.nextElementSibling.remove();
      area.className = "copied";
      bar.after(area);
      area.select();
      let done = true;
      try { await navigator.clipboard.writeText(area.value); } catch { done = document.execCommand("copy"); }
      said.textContent = done ? `${name} copied` : "select and copy:";
    });
    return button;
  });
  const bar = make("p", { class: "links copy" }, "Copy this view: ", ...buttons, said);
  return bar;
}

/** Open the section in which the address's place is. */
function reveal() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = place?.closest("details.section:not([open])") ?? (place?.matches("details.section") ? place : null);
  if (!folded) return;
  folded.open = true;
  place.scrollIntoView();
}

document.addEventListener("DOMContentLoaded", () => {
  const board = $("#board");
  if (board) board.after(copying(() => $("table", board)));
  for (const table of $$("main .scroll:not(.plain) > table")) {
    if (!table.closest("#board, #matrix, .cited") && table.tHead && table.tBodies[0]) table.parentElement.after(copying(() => table));
  }
  reveal();
  addEventListener("hashchange", reveal);
});
