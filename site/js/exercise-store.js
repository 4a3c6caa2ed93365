// The state of the exercises in this browser: { text, judge, solved }. `text` is the reader's program where it differs from
// the start, `solved` is true after a check that passed, `judge` identifies the judge of that check.

import { recordStore } from "./record-store.js";

// More than any exercise needs; a damaged or foreign file does not fill the storage.
const textLimit = 256 * 1024;

export const exercises = recordStore("exercises", (stored) => {
  if (typeof stored !== "object" || stored === null) return undefined;
  const { text, judge, solved } = stored;
  const state = {};
  if (typeof text === "string" && text.length <= textLimit) state.text = text;
  if (typeof judge === "string") state.judge = judge.slice(0, 64);
  if (solved === true) state.solved = true;
  return state;
});

// Changes the state of one exercise; undefined removes a field.
export function update(address, change) {
  const state = Object.fromEntries(
    Object.entries({ ...exercises.all()[address], ...change }).filter(([, value]) => value !== undefined),
  );
  exercises.set(address, Object.keys(state).length > 0 ? state : undefined);
}
