// The search for a molecule in all datasets.
"use strict";

document.addEventListener("DOMContentLoaded", async () => {
  const form = $("#find");
  const { datasets, rows } = await file("", "molecules");
  const most = 48;
  form.hidden = false;
  bind(form, ({ q, on }) => {
    const needle = q.trim();
    const fits = ([d, id, smiles]) => (!on || datasets[d][0] === on) && (id.toLowerCase().includes(needle.toLowerCase()) || (smiles ?? "").includes(needle));
    const found = needle ? rows.filter(fits) : [];
    $("#count").textContent = needle ? `${found.length.toLocaleString("en")} molecule${found.length === 1 ? "" : "s"}${found.length > most ? `, of which ${most} are shown` : ""}` : `${rows.length.toLocaleString("en")} molecules`;
    $("#found").replaceChildren(...found.slice(0, most).map(([d, id, smiles]) => make("li", {},
      ...depicted(smiles, 160, 110),
      make("a", { href: `flips/${datasets[d][0]}.html#molecule=${encodeURIComponent(id)}` }, `${datasets[d][1]}: ${id}`),
      ...(smiles ? [make("code", {}, smiles)] : []))));
  });
});
