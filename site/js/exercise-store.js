// The state of the exercises in this browser: { "part/lesson/id": { text, judge, solved } }. `text` is the reader's program
// where it differs from the start, `solved` is true after a check that passed, `judge` identifies the judge of that check.

import { recall, remember } from "./storage.js";

const key = "exercises";
// More than any exercise needs; a damaged or foreign file does not fill the storage.
const textLimit = 256 * 1024;

export function exercises() {
  try {
    return valid(JSON.parse(recall(key) ?? "{}"));
  } catch {
    return {};
  }
}

// Changes the state of one exercise. Read again each time, because another tab may have changed another exercise.
export function update(address, change) {
  const all = exercises();
  const state = { ...all[address], ...change };
  for (const [name, value] of Object.entries(state)) if (value === undefined) delete state[name];
  if (Object.keys(state).length > 0) all[address] = state;
  else delete all[address];
  replace(all);
}

export function replace(all) {
  remember(key, JSON.stringify(all));
}

// The entries that have the expected form.
export function valid(stored) {
  if (typeof stored !== "object" || stored === null) return {};
  const entries = Object.entries(stored).filter(
    ([address, state]) =>
      /^[a-z0-9-]+\/[a-z0-9-]+\/[a-z0-9-]+$/.test(address) && typeof state === "object" && state !== null,
  );
  return Object.fromEntries(
    entries.map(([address, { text, judge, solved }]) => {
      const state = {};
      if (typeof text === "string" && text.length <= textLimit) state.text = text;
      if (typeof judge === "string") state.judge = judge.slice(0, 64);
      if (solved === true) state.solved = true;
      return [address, state];
    }),
  );
}
