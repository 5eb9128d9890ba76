// Streams a file from the server, piece by piece.

// Whether the answer to a range request begins at the right place, of a file of the right size.
function fits(response, at, size) {
  const [, first, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get("content-range")) ?? [];
  return Number(first) === at && (!size || Number(total) === size);
}

async function answer(path, at, { cache, signal }) {
  try {
    return await fetch(path, { cache, signal, headers: at ? { Range: `bytes=${at}-` } : {} });
  } catch {
    throw new Error(`${path} did not load: is the server still running?`);
  }
}

// Yields {at, piece, round} from the byte `at` on. After an interruption it requests the rest, as long as there is
// progress, if the server supports ranges; if it does not, or has another file, it starts at 0. round: the number of
// earlier requests.
export async function* pieces(path, at, size, { cache = "default", signal } = {}) {
  for (let round = 0; ; round++) {
    const response = await answer(path, at, { cache, signal });
    const part = response.status === 206;
    if (at && (response.status === 416 || (part && !fits(response, at, size)))) {
      at = 0;
      continue;
    }
    if (!response.ok) throw new Error(`${path} is missing: the server answers ${response.status}`);
    if (!part) at = 0;
    const from = at, reader = response.body.getReader();
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        yield { at, piece: next.value, round };
        at += next.value.length;
      }
      return;
    } catch {
      const goesOn = part || response.headers.get("accept-ranges") === "bytes";
      if (!goesOn || at === from || signal?.aborted || !navigator.onLine)
        throw new Error(`${path} broke off after ${at} of ${size} bytes`);
    } finally {
      reader.cancel().catch(() => {}); // the rest is not needed
    }
  }
}
