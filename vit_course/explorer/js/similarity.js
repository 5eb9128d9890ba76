// How alike the tokens are after the last norm: the cosine of their angles.

export function similarities(panels, query) {
  // -> for each panel Float32Array (T): the cosine between the first panel's token `query` and each token.
  const [first] = panels;
  const width = first.featureWidth;
  const of = (features, at) => {
    let sum = 0;
    for (let c = at; c < at + width; c++) sum += features[c] * features[c];
    return Math.sqrt(sum) || 1;
  };
  const own = of(first.features, query * width);
  return panels.map(({ features, tokens }) =>
    Float32Array.from({ length: tokens }, (_, token) => {
      let sum = 0;
      for (let c = 0; c < width; c++) sum += first.features[query * width + c] * features[token * width + c];
      return sum / own / of(features, token * width);
    }),
  );
}
