// Student's t, for intervals that are computed in the page.
"use strict";

function logGamma(x) { // Lanczos, g = 7, 9 terms
  const c = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  const sum = c.reduce((total, term, i) => total + (i ? term / (x - 1 + i) : term), 0);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The regularised incomplete beta function, by Lentz's continued fraction. */
function incompleteBeta(x, a, b) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) + logGamma(a + b) - logGamma(a) - logGamma(b)) / a;
  const safe = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / safe(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m < 300; m += 1) {
    const terms = [(m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)), (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))];
    let change = 1;
    for (const term of terms) {
      d = 1 / safe(1 + term * d);
      c = safe(1 + term / c);
      fraction *= c * d;
      change = c * d;
    }
    if (Math.abs(change - 1) < 1e-14) break;
  }
  return front * fraction;
}

/** The two-sided p-value of t with df degrees of freedom. */
const twoSided = (t, df) => incompleteBeta(df / (df + t * t), df / 2, 0.5);

const quantiles = new Map();
/** The 97.5 % quantile of Student's t, by bisection. */
function quantile(df) {
  if (!quantiles.has(df)) {
    let [low, high] = [1.9, 13];
    for (let i = 0; i < 60; i += 1) {
      const middle = (low + high) / 2;
      if (twoSided(middle, df) > 0.05) low = middle; else high = middle;
    }
    quantiles.set(df, (low + high) / 2);
  }
  return quantiles.get(df);
}
