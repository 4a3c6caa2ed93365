// Starts on every page: theme, search, copy buttons, and the questions and progress of lessons. Small on purpose: a page to
// read loads little else.

import { asset } from "./assets.js";
import { copyButtons } from "./copy.js";
import { pathFilter } from "./path-filter.js";
import { progress } from "./progress.js";
import { questions } from "./questions.js";
import { ruleFilter } from "./rule-filter.js";
import { searchButton } from "./search-button.js";
import { themeToggle } from "./theme-toggle.js";

themeToggle();
searchButton();
copyButtons();
pathFilter();
progress();
questions();
ruleFilter();

// Only lessons with exercises load the script for them.
const exercises = document.querySelectorAll("[data-exercise]");
if (exercises.length > 0) {
  import(asset("exercise.js")).then(({ mountExercises }) => mountExercises(exercises)).catch(() => {
    // The block stays as it was served: the task, the program, and the command that checks it.
  });
}

// Only servers with an identity provider have the link.
const signIn = document.querySelector("[data-sign-in]");
if (signIn) {
  import(asset("sign-in.js")).then(({ showUser }) => showUser(signIn)).catch(() => {
    // The link stays, and leads to the sign-in.
  });
}
