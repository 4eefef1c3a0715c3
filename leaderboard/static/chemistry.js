// Structures in the browser: search, and drawings of training rows, by RDKit's own build, loaded when first needed.
"use strict";

let ready = null; // RDKit, or a promise of it

/** Load RDKit from the script that a build with --rdkit has put beside the pages. */
function chemistry(about) {
  ready ??= file(about.rdkit, "rdkit").then(async () => {
    const bytes = Uint8Array.from(atob(rdkitCode), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const code = await new Response(stream).arrayBuffer(); // given to RDKit, which could not fetch a file on a disk
    const instantiateWasm = (imports, done) => { WebAssembly.instantiate(code, imports).then((made) => done(made.instance)); return {}; };
    return initRDKitModule({ instantiateWasm });
  });
  return ready;
}

const parsed = new Map(); // molecules by their SMILES: to read them takes longest

function read(rdkit, smiles) {
  if (!parsed.has(smiles)) parsed.set(smiles, smiles ? rdkit.get_mol(smiles) : null);
  return parsed.get(smiles);
}

const bits = (mol) => mol.get_morgan_fp_as_uint8array(JSON.stringify({ radius: 2, nBits: 2048 }));
const ONES = Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

function tanimoto(a, b) {
  let both = 0;
  let either = 0;
  for (let k = 0; k < a.length; k += 1) { both += ONES[a[k] & b[k]]; either += ONES[a[k] | b[k]]; }
  return either ? both / either : 0;
}

/** Searches: each takes a text and the SMILES of all examples, and returns a score for each of them, 0 if it does not fit. */
const structures = {
  async has(about, text, smiles) {
    const rdkit = await chemistry(about);
    const query = rdkit.get_qmol(text);
    if (!query) throw new Error(`RDKit does not read ${text} as a SMARTS: correct the substructure`);
    const scores = smiles.map((s) => (read(rdkit, s)?.get_substruct_match(query) ?? "{}") !== "{}" ? 1 : 0);
    query.delete();
    return scores;
  },
  async like(about, text, smiles) {
    const rdkit = await chemistry(about);
    const wanted = rdkit.get_mol(text);
    if (!wanted) throw new Error(`RDKit does not read ${text} as a SMILES: correct the structure`);
    const one = bits(wanted);
    const scores = smiles.map((s) => { const mol = read(rdkit, s); return mol ? tanimoto(one, bits(mol)) : 0; });
    wanted.delete();
    return scores;
  },
};

/** Draw a structure as the build draws them. */
async function drawing(about, smiles) {
  const mol = read(await chemistry(about), smiles);
  const [width, height] = [220, 150];
  const options = { width, height, clearBackground: false, padding: 0.03, bondLineWidth: 1.2, fixedBondLength: height / 5, atomColourPalette: about.palette };
  const box = make("div", { class: "structure" });
  if (mol) box.innerHTML = mol.get_svg_with_highlights(JSON.stringify(options)).replace(/^<\?xml.*?\?>/, "").replaceAll("#000000", "currentColor");
  return box;
}
