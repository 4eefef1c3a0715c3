// The search for a molecule in all datasets.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = $("#find");
  const every = () => file("", "molecules");
  const most = 48;
  form.hidden = false;
  form.addEventListener("focusin", every, { once: true }); // half a megabyte, which those who only look around do without
  bind(form, async ({ q, on }) => {
    const needle = q.trim();
    const { datasets, rows } = needle ? await every() : { rows: [] };
    if (q !== form.elements.q.value || on !== form.elements.on.value) return;
    const fits = ([d, id, smiles]) => (!on || datasets[d][0] === on) && ((needle.length > 3 && id.toLowerCase().includes(needle.toLowerCase())) || (smiles ?? "").includes(needle));
    const found = rows.filter(fits);
    const none = "None: no ID and no SMILES has this part, as these rows have no common names.";
    $("#count").textContent = needle && !found.length ? none : needle ? `${found.length.toLocaleString("en")} molecule${found.length === 1 ? "" : "s"}${found.length > most ? `, of which ${most} are shown` : ""}` : "";
    $("#found").replaceChildren(...found.slice(0, most).map(([d, id, smiles]) => make("li", {},
      ...depicted(smiles, 160, 110),
      make("a", { href: `flips/${datasets[d][0]}.html#molecule=${encodeURIComponent(id)}` }, `${datasets[d][1]}: ${id}`),
      ...(smiles ? [make("code", {}, smiles)] : []))));
  });
});
