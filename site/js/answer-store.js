// The reader's answers to the questions of the lessons, in this browser: the number that was entered, or the positions of the
// options that were chosen, as text.

import { recordStore } from "./record-store.js";

export const answers = recordStore("answers", (stored) =>
  typeof stored === "string" && stored.length <= 64 ? stored : undefined,
);

// The address of a question: its lesson and the hash of its text, so that a changed question has no answer.
export function addressOf(block) {
  const lesson = block.closest("[data-lesson]")?.dataset.lesson;
  return lesson && `${lesson}/${block.dataset.question}`;
}
