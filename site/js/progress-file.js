// Progress as a file, to move it to another browser.

import { answers } from "./answer-store.js";
import { element } from "./element.js";
import { exercises } from "./exercise-store.js";

const limit = 8 << 20;

// Buttons that export and import the progress. `lessons` are the lessons read; `imported` receives those of a file.
export function progressFile(lessons, imported) {
  const status = element("span", { role: "status" });
  const save = element("button", { type: "button", textContent: "Export" });
  save.addEventListener("click", () => {
    const stored = { lessons: [...lessons()], exercises: exercises.all(), answers: answers.all() };
    const progress = { hipward: "progress", version: 1, ...stored };
    const blob = new Blob([`${JSON.stringify(progress, null, 2)}\n`], { type: "application/json" });
    const link = element("a", { download: "hipward-progress.json", href: URL.createObjectURL(blob) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  const input = element("input", { type: "file", accept: ".json,application/json" });
  input.addEventListener("change", async () => {
    const [file] = input.files;
    if (!file) return;
    try {
      const progress = await read(file);
      exercises.replace({ ...exercises.all(), ...progress.exercises });
      answers.replace({ ...answers.all(), ...progress.answers });
      imported(progress.lessons);
      status.textContent = `Imported ${file.name}.`;
    } catch (error) {
      status.textContent = error.message;
    }
    input.value = "";
  });
  return element("details", { className: "progress-file" }, [
    element("summary", { textContent: "Move your progress to another browser" }),
    element("p", { className: "actions" }, [save, element("label", {}, ["Import ", input]), status]),
  ]);
}

async function read(file) {
  const wrong = new Error(`${file.name} is not a progress file. Export one with the button on this page.`);
  if (file.size > limit) throw wrong;
  let stored;
  try {
    stored = JSON.parse(await file.text());
  } catch {
    throw wrong;
  }
  if (stored?.hipward !== "progress" || !Array.isArray(stored.lessons)) throw wrong;
  const lessons = stored.lessons.filter((lesson) => typeof lesson === "string" && /^[a-z0-9-]+\/[a-z0-9-]+$/.test(lesson));
  return { lessons, exercises: exercises.valid(stored.exercises), answers: answers.valid(stored.answers) };
}
