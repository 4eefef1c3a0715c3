// The search for a molecule in all datasets.
"use strict";

/** Whether an ID is meant; a few characters are in many hashes, and in element symbols of SMILES. */
function named(id, needle, alone) {
  const [name, part] = [id.toLowerCase(), needle.toLowerCase()];
  return name === part || ((alone || part.length > 3) && name.includes(part));
}

document.addEventListener("DOMContentLoaded", () => {
  const form = $("#find");
  const every = () => file("", "molecules");
  const most = 48;
  form.hidden = false;
  form.addEventListener("focusin", () => every().catch(() => {}), { once: true }); // half a megabyte, which those who only look around do without
  const search = async ({ q, on }) => {
    const needle = q.trim();
    const { datasets, rows } = needle ? await every() : { rows: [] };
    if (q !== form.elements.q.value || on !== form.elements.on.value) return;
    const fits = ([d, id, smiles]) => (!on || datasets[d][0] === on) && ((smiles ?? "").includes(needle) || named(id, needle, !smiles));
    const found = rows.filter(fits);
    const none = "None. Molecules have no common names here: search for part of a SMILES, or for four or more characters of an ID.";
    const { selectedOptions: [of] } = form.elements.on;
    if (on && !needle) $("#count").replaceChildren(make("a", { href: `flips/${on}.html` }, `All molecules of ${of.text}`), ", or search for one.");
    else $("#count").textContent = needle && !found.length ? none : needle ? `${found.length.toLocaleString("en")} molecule${found.length === 1 ? "" : "s"}${found.length > most ? `, of which ${most} are shown` : ""}` : "";
    $("#found").replaceChildren(...found.slice(0, most).map(([d, id, smiles]) => make("li", {},
      ...depicted(smiles, 160, 110),
      make("a", { href: `flips/${datasets[d][0]}.html#molecule=${encodeURIComponent(id)}` }, `${datasets[d][1]}: ${id}`),
      ...(smiles ? [make("code", {}, smiles)] : []))));
  };
  bind(form, (state) => search(state).catch((error) => { $("#count").textContent = error.message; }));
});
