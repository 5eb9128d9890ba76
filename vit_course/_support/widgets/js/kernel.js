// Questions to the kernel.

import { bytesOf } from "./bytes.js";

let last = 0;

// question: what JSON can hold. -> a promise of the answer of `Widget._answer`, with its `buffers` as bytes, or of {error}.
export function ask(model, question) {
  return new Promise((done) => {
    const number = ++last;
    const heard = (message, buffers) => {
      if (message.answers !== number) return;
      model.off("msg:custom", heard);
      done({ ...message, buffers: buffers.map(bytesOf) });
    };
    model.on("msg:custom", heard);
    model.send({ ask: number, ...question });
  });
}
